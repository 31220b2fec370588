/** Stop words, one line per language: they identify the language, and no search is about them. */
const LISTS = `
  en: a about after all also an and any are as at be been between both but by can could did do does doing each for from had has have having how i if in into is it its just may me more most my no nor not of on one or other our out over should so some such than that the their them then there these they this those to under up us was we were what when where which while who whom whose why will with would you your tell explain describe please
  de: aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dem den denn der des die dies diese dieser dieses doch dort du durch ein eine einem einen einer eines er es etwa für gegen gibt hat hatte haben ich ihr im in ist ja jede jeder kann kein keine können man mehr mit muss nach nicht noch nur ob oder ohne sehr sein seine sich sie sind so über um und uns unter viel vom von vor war waren warum was wegen welche welchem welchen welcher welches wenn wer werden wie wieviel will wir wird wo wofür wozu wurde wurden zu zum zur zwischen
  fr: à au aux avec avait ce ces cet cette comme comment dans de depuis des dont du elle elles en entre est et été être était eux fait il ils je jusque la le les leur leurs lui ma mais même mes mon ne nos notre nous on ont ou où par pas pendant plus pour pourquoi quand que quel quelle quelles quels qui quoi sa sans se ses si son sont sous sur ta te tes ton tous tout toute toutes très tu un une vos votre vous y
  es: a al algo ante antes aunque bajo cada como cómo con contra cual cuál cuáles cuando cuándo cuánto de del desde donde dónde durante e el él ella ellas ellos en entre era eran es esa ese eso esta está están estas este esto estos fue fueron ha había hace hacia han hasta hay la las le les lo los más me mi mientras muy ni no nos o otra otro para pero por porque qué que quién quienes se según ser si sí sin sobre son su sus también tan tiene tienen todo todos tras tu un una unos y ya
  it: a ad agli ai al alla alle allo anche che chi ci come con contro cosa cui da dagli dai dal dalla dalle dei degli del della delle dello di dopo dove due e è ed era erano fra fu gli ha hanno i il in io la le lei lo loro lui ma mi molto negli nei nel nella nelle nello noi non o ogni per perché più prima qual quale quali quando quanto quella quelle quello questa queste questi questo se sei senza si sia sono sopra su sua sue sugli sui sul sulla suo suoi tra tutti un una uno voi
  pt: a à ao aos as às até com como da das de dela dele depois do dos e é ela elas ele eles em entre era essa esse esta está este eu foi foram há isso isto já la mais mas me mesmo meu muito na não nas nem no nos nós o onde os ou para pela pelas pelo pelos por porque quais qual quando quanto que quem são se sem ser seu seus só sobre sua suas também tem têm todos um uma umas uns você
  nl: aan al alle als bij daar dan dat de deze die dit door dus een en er geen had heb hebben heeft het hij hoe hoeveel hun ik in is ja je kan kunnen maar meer men met mijn moet na naar niet nog nu of om omdat ons ook onder op over te tegen tot tussen u uit van veel voor waar waarom wanneer want waren was wat we wel welk welke werd werden wie wij wordt worden zal ze zich zij zijn zo zonder zou
  sv: alla allt att av bara blev bli blir de dem den denna deras dess dessa det detta dig din ditt du där då efter ej eller en ett för från få får genom ha hade han har hon hos hur här i icke ingen inte jag kan kom kunde man med mellan men mer min mot mycket måste ni nu när någon något några och om oss på samma sedan sig sin sitt ska skall som till under upp ut utan vad var vara varför varit vem vi vid vilka vilken vilket är åt över
  da: af alle andet at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter eller en end er et for fra før få ham han hans har havde hende hun hvad hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor hvornår i ikke ind jeg kan kom kunne man mange med meget mellem men mere mig min mod ned noget nogle nu når og også om op os over på sig sin skal skulle som så til ud uden under var ved vi vil ville være været
  no: alle at av bare ble bli blir både da de dem den denne der deres det dette din disse du eller en enn er et etter for fordi fra før ha hadde han hans har henne her hun hva hvem hver hvilke hvilken hvilket hvis hvor hvordan hvorfor i ikke ingen inn jeg kan kom kunne man mange med mellom men mer mot mye må ned noe noen nå når og også om opp oss over på seg selv si sin skal skulle som så til ut uten var ved vi vil ville være vært
  fi: ei eikä eli että he hän ja jo joka jonka jos jossa jota joten kanssa keskellä kuin kuinka kun kuten me mihin mikä mikäli miksi millainen milloin minä missä mitä mitkä mukaan mutta mutta myös ne niin niitä nyt näin oli olla olen on ovat samoin se sekä sen siitä siellä sillä sinä sitä sitten tai te tämä tämän tässä tätä vaan vai vaikka voi voidaan yli ympäri
  ru: а без бы был была были было быть в вам вас весь во вот все всё вы где да для до его ее её если есть еще ещё же за и из или им их к как какая какие какой ко когда которая которые который кто ли мне может мы на над не него нее нет ни но о об он она они оно от по под почему при с сколько со так такой там то того только тоже том ты у уже чего чем что чтобы эта эти это этого этой этом этот я
  uk: а або але без би бо був була були було бути в вам вас весь від він вона вони воно все всі ви де для до є за з зі і й із їх її його коли котрий ли ми може на над не немає ні об один по під при про та так також там те ти тільки той то тому у уже хто це цей ця ці чи чого чому що щоб як яка який які якщо
  el: από αυτή αυτό αυτός για δεν είναι ενώ ένα ένας η θα και κατά μας με μετά μια να ο οι όπως όταν ότι που πού πως πώς πολύ προς πριν σας σε στα στη στην στις στο στον στους τα τη την της τι τις το τον του τους των ως
  ar: إلى أن أو إن التي الذي الذين أي أين بعد بين تم حتى حيث ذلك عن عند على في قبل قد كان كانت كل كما كيف لا لم لماذا ما متى مع من منذ هذا هذه هل هو هي و
  ro: a acest această aceste al ale am ar are au ca că care ce cea cei cel cele cine cu cum de despre din după ei el ele era este eu fi fost iar în într-o la lor lui mai nu o pe pentru prin sa sau să se sunt și un una unde unei unui
  hu: a az azt csak de egy el én és ez ezt fel ha hogy hol honnan is itt ki kell le lehet lesz már még mely melyik mert mi miért mikor milyen mint mit nem nincs ott ő össze pedig sem után vagy van vannak volt voltak
  tr: ama ancak bir biri bu bunu çok çünkü da daha de değil diye en gibi hangi hem her için ile ise kadar ki kim mi mı mu mü nasıl ne neden nerede o olan olarak oldu onu sonra şu ve veya ya yok
  pl: a aby ale bez być był była było były co czy czym dla dlaczego do gdy gdzie go i ich ile im inne ja jak jaka jaki jakie jako je jego jej jest jeszcze już każdy kiedy kto która które który lub ma mają może mnie moje można na nad nie niż o od oraz po pod poza przed przez przy są się skąd ta tak także tam te tego tej ten to tu tylko tym w we więc wszystko z za ze że żeby
  bg: без бъде в във все да до е за защо и из или им как каква какви какво какъв когато кога кой която които коя къде ли ма между на най не но някои от по под при с са се след според със това този тази той тя че ще
`;

export const STOP_WORDS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Array.from(LISTS.matchAll(/(\w\w): (.+)/g), ([, language = '', words = '']) => [language, new Set(words.split(' '))]),
);

/** The languages that have each stop word. */
const LANGUAGES_OF = new Map<string, string[]>();
for (const [language, words] of STOP_WORDS)
  for (const word of words) LANGUAGES_OF.set(word, [...(LANGUAGES_OF.get(word) ?? []), language]);

/**
 * The language with the most stop words among these words in lower case, as an ISO 639 code; undefined if it has fewer than
 * `min` of them, or no more than another one.
 */
export function languageOfWords(words: readonly string[], min: number): string | undefined {
  const found = new Map<string, number>();
  for (const word of words)
    for (const language of LANGUAGES_OF.get(word) ?? []) found.set(language, (found.get(language) ?? 0) + 1);
  const counts = [...found].map(([language, count]) => ({ language, count })).sort((x, y) => y.count - x.count);
  const [best, second] = counts;
  return best && best.count >= min && best.count !== second?.count ? best.language : undefined;
}
