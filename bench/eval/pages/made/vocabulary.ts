/** The words of a language, as patterns of sentences need them. */
export interface Vocabulary {
  /** Chapter titles that are furniture on other pages. */
  titles: readonly string[];
  /** What makes a longer title of one of them. */
  endings: readonly string[];
  /** First words of paragraphs that are furniture on other pages. */
  openings: readonly string[];
  subjects: readonly string[];
  verbs: readonly string[];
  objects: readonly string[];
  places: readonly string[];
  joins: readonly string[];
}

const split = (text: string) => text.split(';').map((word) => word.trim());

export const VOCABULARIES: Readonly<Record<'en' | 'de' | 'fr', Vocabulary>> = {
  en: {
    titles: split(
      `Comments; Tags; Newsletter; Subscribe; Related work; Share; Recommended settings; More on anchors; Advertising;
      Sponsors; Follow; Popular options; Contact; About the author; Read more; Cookies; Privacy; Print; Login; Search;
      Menu; Navigation; Footer; Sidebar; Breadcrumbs; Social; Feedback; Replies; Ratings; Donate; Further reading;
      See also; Notes; Disclaimer; Copyright; Categories; Archive; Trending; Latest news; Sign up; Terms of use;
      Support us; Credits; Authors; Related; Table of contents; Widgets; Banner; Promotions; Likes; Next; Previous;
      Leave a reply; Join us; Recommended; Most read; Skip to content; Topics; Responses; Discussion; Register`,
    ),
    endings: split('in practice; and scope; for operators; of a release; with two replicas; by example; explained'),
    openings: split(
      `Subscribe to the queue first:; Share the buffer only when; Related:; Read more rows than you need and;
      Tags: they are sorted, and; Comments may stand anywhere;; Follow the pointer until; Sign up takes one call,;
      Advertisement frames carry a length, and; Copyright fields are copied;; Print the header before; See also how;
      Recommended values are small:; Click here means the first press, and; Cookies are signed;`,
    ),
    subjects: split(
      `the scheduler; a slow reader; the second replica; every parser; the compiler; an older client; the harbour office;
      a careful operator; the glacier; the museum; our survey; the committee; the enzyme; the valve; a stray comet`,
    ),
    verbs: split(
      `keeps; rejects; measures; rewrites; delays; describes; balances; collects; repairs; forgets; splits; predicts;
      observes; replaces; surrounds; confirms`,
    ),
    objects: split(
      `the oldest segment; a checksum of each block; two thirds of the traffic; the winter harvest; a narrow window;
      its own ledger; the signal from the coast; most of the pressure; a copy of the index; the northern wing;
      the third harmonic; an empty answer; the letters of the founder; a layer of copper`,
    ),
    places: split(
      `before the lease ends; on the eastern shore; within four seconds; after the merger; at low temperature;
      without a lock; under heavy load; in the second decade; near the old bridge; once per minute`,
    ),
    joins: split('and; but; because; while; so that; although'),
  },
  de: {
    titles: split(
      `Kommentare; Schlagwörter; Newsletter; Abonnieren; Verwandte Arbeiten; Teilen; Empfehlungen; Mehr zum Thema;
      Werbung; Anmelden; Drucken; Impressum; Datenschutz; Weiterlesen; Kontakt; Suche; Navigation; Fußzeile; Themen;
      Autoren; Bewertungen; Spenden; Siehe auch; Kategorien; Archiv; Beliebt; Aktuelle Meldungen; Anzeige; Folgen;
      Nutzungsbedingungen; Weitere Informationen; Quellen; Stichwörter; Antworten`,
    ),
    endings: split('im Betrieb; und Grenzen; für Fachleute; an einem Beispiel; mit zwei Rechnern'),
    openings: split(
      `Teilen lässt sich der Puffer nur, wenn; Mehr zum Thema sagt der Anhang:; Anzeige und Messung sind getrennt:;
      Kommentare stehen am Zeilenende, und; Siehe auch, wie; Lesen Sie auch die zweite Spalte, denn;
      Quelle: das Protokoll zeigt, dass; Drucken heißt hier, dass`,
    ),
    subjects: split(
      `der Verteiler; ein langsamer Leser; die zweite Kopie; jeder Übersetzer; das Hafenamt; der Gletscher;
      das Museum; unsere Erhebung; der Ausschuss; das Ventil; die alte Mühle`,
    ),
    verbs: split('behält; verwirft; misst; verzögert; beschreibt; sammelt; ersetzt; vergisst; bestätigt; beobachtet'),
    objects: split(
      `den ältesten Abschnitt; eine Prüfsumme je Block; zwei Drittel des Verkehrs; die Ernte des Winters;
      ein schmales Fenster; das eigene Verzeichnis; den Nordflügel; die dritte Oberschwingung; eine leere Antwort`,
    ),
    places: split(
      `vor Ablauf der Frist; am östlichen Ufer; binnen vier Sekunden; nach dem Umbau; bei tiefer Temperatur;
      ohne Sperre; unter hoher Last; im zweiten Jahrzehnt`,
    ),
    joins: split('und; aber; denn; während; doch'),
  },
  fr: {
    titles: split(
      `Commentaires; Étiquettes; Lettre d’information; S’abonner; Travaux connexes; Partager; Recommandations;
      À lire aussi; Publicité; Connexion; Imprimer; Mentions légales; Lire la suite; Contact; Recherche; Navigation;
      Pied de page; Sujets; Auteurs; Notes; Faire un don; Voir aussi; Catégories; Archives; Articles liés; Suivre`,
    ),
    endings: split('en pratique; et portée; pour les exploitants; par l’exemple; avec deux copies'),
    openings: split(
      `Partager le tampon suppose que; À lire aussi dans l’annexe :; Publicité et mesure sont séparées :;
      Commentaires et valeurs se suivent, et; Voir aussi comment; Lire la suite du journal montre que`,
    ),
    subjects: split(
      `l’ordonnanceur; un lecteur lent; la seconde copie; chaque analyseur; le bureau du port; le glacier; le musée;
      notre enquête; le comité; la vanne`,
    ),
    verbs: split('garde; refuse; mesure; retarde; décrit; rassemble; répare; oublie; remplace; confirme'),
    objects: split(
      `le plus ancien segment; une somme de chaque bloc; deux tiers du trafic; la récolte d’hiver;
      une fenêtre étroite; son propre registre; l’aile nord; la troisième harmonique; une réponse vide`,
    ),
    places: split(
      `avant la fin du bail; sur la rive orientale; en quatre secondes; après la fusion; à basse température;
      sans verrou; sous forte charge; dans la deuxième décennie`,
    ),
    joins: split('et; mais; car; tandis que; alors que'),
  },
};
