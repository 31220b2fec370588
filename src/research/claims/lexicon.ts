import { WordList } from './text/word-list.ts';

/**
 * Words that change the meaning of a sentence, as patterns of folded text: negations, directions, hedges. All languages
 * share the tables, because a claim and its source may be in different languages.
 */

const wordList = (words: string, signs: string) => new WordList(words, signs);

/** Words that negate the words near them. */
export const NEGATIONS = wordList(
  "not(?! (?:more|less|fewer|later) than)|no(?! (?:more|less|fewer|later|mas|menos) (?:than|de))|never|neither|nor|none|without|cannot|\\p{L}+n't|nobody|nothing|nowhere|hardly|" +
    'nicht(?! (?:mehr|weniger) als)|kein|keine|keinen|keinem|keiner|keines|nie|niemals|ohne|weder|nichts|niemand|' +
    "ne|n'\\p{L}+|pas(?! (?:plus|moins) d)|jamais|aucun|aucune|sans|ni|nunca|jamas|sin|ningun|ninguna|ninguno|tampoco|nadie|nada|" +
    'non(?!-| (?:piu|meno) di)|nessun|nessuno|nessuna|senza|ne|не|нет|без|никогда|ни',
  '不(?!足(?!以)|得?超|低于|高于|到|同|断|斷|仅|僅|少|过|過|久|锈|动|動)|没|無(?!料|線)|无(?!锡|线)|未(?!来|來|满|満)|非(?!常|洲)|(?<!少|危|なら|いけ|満た)ない(?!と)|(?<!なり|いけ)ません|なかった|ずに|なし|لم|لن|ليس|لا|بدون',
);

/** Verbs that contain a negation: `failed to` means `did not`. */
export const DENIALS = wordList(
  'fail\\p{L}*|cess\\p{L}*|fallo|fallar\\p{L}*|moved? away|ceas\\p{L}*|quit|left|lack\\p{L}*|abolish\\p{L}*|absen\\p{L}*|refus\\p{L}*|reject\\p{L}*|den(?:y|ied|ies)|avoid\\p{L}*|except|unable|remov\\p{L}*|' +
    'instead of|rather than|disappear\\p{L}*|vanish\\p{L}*|rul(?:e|es|ed) out|mere|drop\\p{L}*|prevent\\p{L}*|stop\\p{L}*|end(?:ed|s)?|unchanged|exclud\\p{L}*|exempt\\p{L}*|oppos(?:e[ds]?|ing)|opus\\p{L}*|free of|un(?:able|chang|affect|know|like|success|avail|alter|resolv)\\p{L}*|in(?:comp|depen|eff|val|vis)\\p{L}*|' +
    'abgeschafft|befreit|ausgenommen|verzicht\\p{L}*|fehl\\p{L}*|verfehl\\p{L}*|schl(?:oss|iess)\\p{L}*(?= .{0,60} aus(?!\\p{L}))|abgelehnt|lehn\\p{L}*|verweiger\\p{L}*|gescheitert|scheiter\\p{L}*|unverandert|ausgeschlossen|kostenlos|frei|' +
    'supprim\\p{L}*|refus\\p{L}*|rejet\\p{L}*|echou\\p{L}*|gratuit\\p{L}*|exclu\\p{L}*|manqu\\p{L}*|' +
    'suprim\\p{L}*|rechaz\\p{L}*|fracas\\p{L}*|n(?:i?e)g[oa]\\p{L}*|carec\\p{L}*|falt\\p{L}*|abol\\p{L}*|' +
    'rifiut\\p{L}*|respin\\p{L}*|manca\\p{L}*|esclu\\p{L}*',
  '拒绝|拒否|取消|废除|廃止|失败|失敗|禁止|免',
);

/** Words for what is only planned, expected or possible. */
export const HEDGES = wordList(
  '(?<!(?:all|the|both|these|those|our|their|its|of) )plans?(?= (?:to|for|on|a|an)(?!\\p{L}))|planned|planning|should|would|due to be|slated|(?:thought|believed|said|assumed|reported) to|reportedly|allegedly|presumably|(?<!(?:in|of|since|until|by|from|early|late|to|last|next|this|\\d)[ -])may(?! \\d)|might|expects?|expected|intends?|intended|proposed|aims?|hopes?|likely|unlikely|possibly|perhaps|' +
    'probably|will|could|pending|(?:not|n.t) ruled? out|(?:was|were|is|are|has|have|had) (?:yet |still )?to|projected|forecasts?|considering|scheduled|pledg\\p{L}*|promis\\p{L}*|' +
    'soll|sollen|sollte|sollten|planen|plante|geplant|moglicherweise|voraussichtlich|wahrscheinlich|vermutlich|angeblich|wohl|' +
    'durfte|durften|konnte\\p{L}*|noch aus|muss(?:en)? (?:\\p{L}+ )?noch|rechne[nt]|rechnete\\p{L}*|in aussicht|erwart\\p{L}*|beabsichtig\\p{L}*|vorgesehen|versprach\\p{L}*|versprochen|vorschlag\\p{L}*|' +
    'nicht aus(?:geschlossen|schliess\\p{L}*)|n.exclut pas|no (?:se )?descarta\\p{L}*|non esclude|devrait|devraient|doit|doivent|peut|peuvent|en attente|doit encore|doivent encore|pourrait|pourraient|prevoit|prevoient|prevu|prevue|prevus|envisag\\p{L}*|probable\\p{L}*|projette|souhaite|compte(?:nt)?(?= \\p{L}+[ei]r)|veut|veulent|promet\\p{L}*|' +
    'podria|podrian|posibl\\p{L}*|puede|pueden|falta que|pendientes?|preve|preven|previsto|prevista|planea|planean|proyecta|probable\\p{L}*|se espera|quiza|quizas|propone|pretende|deberia|quieren?|prometi\\p{L}*|' +
    'potrebbe|potrebbero|puo|possono|in attesa|deve ancora|devono ancora|dovrebbe|dovrebbero|previsto|prevista|prevede|prevedono|probabil\\p{L}*|forse|intende|punta a|vuole|vogliono|promes\\p{L}*|' +
    'планир\\p{L}*|может|могут|ожида\\p{L}*|вероятно|возможно|намерен\\p{L}*|будет',
  '不排除|承诺|计划|計劃|规划|预计|仍需|尚待|可能|或许|或將|拟|将于|将会|将在|将|有望|预期|建议|予定|計画|見込|見通し|かもしれ|だろう|予想|目指|方針',
);

/** Pairs of opposite directions. */
export const OPPOSITES: readonly (readonly [WordList, WordList])[] = [
  [
    wordList(
      'ris(?:e|es|en|ing)|rose|increas\\p{L}*|grow\\p{L}*|grew|gain\\p{L}*|climb\\p{L}*|surg\\p{L}*|jump\\p{L}*|soar\\p{L}*|higher|expand\\p{L}*|' +
        'improv\\p{L}*|doubl\\p{L}*|tripl\\p{L}*|longer|greater|mayor(?:es)?|upward|strengthen\\p{L}*|accelerat\\p{L}*|widen\\p{L}*|up(?= \\d| by)|(?<=% )(?:mas|plus|piu)|rais(?:e|ed|es)|above|exceed\\p{L}*|better|faster|larger|more|mehr|' +
        'subi(?:u|ram|r|ndo)|sobe|sobem|cresc\\p{L}*|melhor\\p{L}*|alarg\\p{L}*|ultrapass\\p{L}*|verlanger\\p{L}*|beschleunig\\p{L}*|erweiter\\p{L}*|anheb\\p{L}*|angehoben|hob|ausgebaut|ausbau\\p{L}*|gestiegen|stieg|stiegen|steig\\p{L}*|anstieg\\p{L}*|zunahme|zugenommen|erhoh\\p{L}*|wuchs\\p{L}*|wachs\\p{L}*|gewachsen|hoher\\p{L}*|langer|verbesser\\p{L}*|kletter\\p{L}*|zugelegt|uberschr\\p{L}*|ubertr\\p{L}*|schneller|besser|verdoppel\\p{L}*|' +
        'acceler\\p{L}*|allong\\p{L}*|prolong\\p{L}*|elargi\\p{L}*|bondi\\p{L}*|plus (?:grand|eleve|important)\\p{L}*|en plus|de plus|augment\\p{L}*|hausse|progress\\p{L}*|grimp\\p{L}*|croiss\\p{L}*|accru\\p{L}*|superieur\\p{L}*|amelior\\p{L}*|doubl\\p{L}*|depass\\p{L}*|releve\\p{L}*|' +
        'aceler\\p{L}*|alarg\\p{L}*|ampli[ao]\\p{L}*|de mas|aument\\p{L}*|subi(?:do|o|eron)|sube|suben|crec\\p{L}*|increment\\p{L}*|alza|mejor\\p{L}*|supero|supera|superaron|' +
        'acceler\\p{L}*|allung\\p{L}*|in piu|crescit\\p{L}*|cresc\\p{L}*|cresciut\\p{L}*|salit\\p{L}*|salgono|superior\\p{L}*|maggiore|rialz\\p{L}*|miglior\\p{L}*|incremen\\p{L}*|' +
        'вырос\\p{L}*|рост\\p{L}*|увелич\\p{L}*|повы\\p{L}*|поднял\\p{L}*|выше',
      '增加|增长|增長|上升|上涨|提高|增至|升至|攀升|扩大|高于|超出|多于|加快|加速|提升|延长|增え|上昇|上回|増大|増(?!税)|増加|伸び|高ま|増収|増益|延び|拡大|长于|引き上げ|高い|高く|高かっ|長く|延長|多い|多く',
    ),
    wordList(
      'fall\\p{L}*|fell|declin\\p{L}*|decreas\\p{L}*|drop\\p{L}*|lower\\p{L}*|reduc\\p{L}*|shr[aiu]nk\\p{L}*|cut|cuts|cutting|fewer|less|shorter|worse\\p{L}*|halv\\p{L}*|slump\\p{L}*|' +
        'plung\\p{L}*|slip\\p{L}*|slid|slides?|dip(?:s|ped)?|zuruck|tumbl\\p{L}*|downward|weaken\\p{L}*|(?<=% )(?:menos|moins|meno)|slow\\p{L}*|narrow\\p{L}*|down|below|smaller|weniger|moins|' +
        'gefallen|fiel|fielen|fallt|sank|sanken|sink\\p{L}*|gesunken|ruckgang\\p{L}*|abnahme|abgenommen|verringer\\p{L}*|reduzier\\p{L}*|niedriger\\p{L}*|kurzer|schrumpf\\p{L}*|geschrumpft|gesenkt|senk\\p{L}*|zuruckg\\p{L}*|unterschr\\p{L}*|langsamer|schlechter|halbier\\p{L}*|verkurz\\p{L}*|verlangsam\\p{L}*|eingebrochen|abgebaut|abbau\\p{L}*|nachgelassen|verschlechter\\p{L}*|' +
        'cai(?:u|ram|r|ndo)?|caem|queda|reduz\\p{L}*|encolh\\p{L}*|pior\\p{L}*|moindre|raccourci\\p{L}*|effondr\\p{L}*|flechi\\p{L}*|moins (?:grand|eleve|important)\\p{L}*|en moins|de moins|baiss\\p{L}*|diminu\\p{L}*|recul\\p{L}*|chut\\p{L}*|redui\\p{L}*|inferieur\\p{L}*|repli\\p{L}*|abaiss\\p{L}*|ralenti\\p{L}*|' +
        'ralentiz\\p{L}*|acort\\p{L}*|recort\\p{L}*|desplom\\p{L}*|rebaj\\p{L}*|de menos|disminu\\p{L}*|baj[aoe]|bajaron|bajar|cay\\p{L}*|cae|caen|caid\\p{L}*|descend\\p{L}*|reduc\\p{L}*|reduj\\p{L}*|menor|descens\\p{L}*|retroced\\p{L}*|empeor\\p{L}*|' +
        'rallent\\p{L}*|accorci\\p{L}*|taglia\\p{L}*|croll\\p{L}*|in meno|diminui\\p{L}*|cal(?:o|a|ano|at\\p{L}*|arono|ando)|scend\\p{L}*|sces[aoie]|ridott\\p{L}*|riduz\\p{L}*|riduc\\p{L}*|inferior\\p{L}*|minore|ribass\\p{L}*|peggior\\p{L}*|' +
        'сниз\\p{L}*|упал\\p{L}*|паден\\p{L}*|сократ\\p{L}*|уменьш\\p{L}*|ниже',
      '减少|減少|下降|下跌|降低|降至|跌至|缩小|下滑|低于|少于|放缓|变慢|缩短|减至|减慢|減っ|減る|低下|下落|減(?!税)|下回|縮小|短く|落ち|減収|減益|縮ま|引き下げ|低い|低く|低かっ|短縮|少ない|少なく',
    ),
  ],
  [
    wordList(
      'approv\\p{L}*|accept\\p{L}*|allow\\p{L}*|permit\\p{L}*|support\\p{L}*|endors\\p{L}*|legal\\p{L}*|upheld|in favou?r|agree\\p{L}*|confirm\\p{L}*|' +
        'genehmig\\p{L}*|angenommen|erlaub\\p{L}*|zugelassen|unterstutz\\p{L}*|zugestimmt|stimmte\\p{L}*|bestatig\\p{L}*|befurwort\\p{L}*|gebilligt|billigt\\p{L}*|' +
        'approuv\\p{L}*|accept\\p{L}*|autoris\\p{L}*|adopt\\p{L}*|soutien\\p{L}*|soutenu\\p{L}*|valid\\p{L}*|confirm\\p{L}*|favorable\\p{L}*|' +
        'permess\\p{L}*|aprob\\p{L}*|acept\\p{L}*|permit\\p{L}*|autoriz\\p{L}*|apoy\\p{L}*|favor|approv\\p{L}*|accett\\p{L}*|consent\\p{L}*|autorizz\\p{L}*|sosten\\p{L}*|favore',
      '批准|通过|允许|支持|同意|赞成|接受|承認|許可|賛成|可決|認め|支持',
    ),
    wordList(
      'reject\\p{L}*|refus\\p{L}*|ban|bans|banned|prohibit\\p{L}*|forb\\p{L}*|den(?:y|ied)|oppos\\p{L}*|veto\\p{L}*|illegal|overturn\\p{L}*|block(?:ed|s)|dismiss\\p{L}*|' +
        'abgelehnt|lehnt|lehnen|ablehn\\p{L}*|lehnte\\p{L}*|verbot\\p{L}*|verbiet\\p{L}*|untersagt\\p{L}*|zuruckgewiesen|verworfen|gegen|' +
        'rejet\\p{L}*|refus\\p{L}*|interdi\\p{L}*|oppos\\p{L}*|annul\\p{L}*|rechaz\\p{L}*|prohib\\p{L}*|opus\\p{L}*|opon\\p{L}*|' +
        'respin\\p{L}*|rifiut\\p{L}*|vieta\\p{L}*|bocci\\p{L}*',
      '拒绝|禁止|反对|否决|驳回|拒否|反対|否決|却下|否定|否认',
    ),
  ],
];

/** Words that mean all of something. */
export const ALL = wordList(
  'all|every|always|entire\\p{L}*|whole|solely|exclusively|alle|allen|aller|jede\\p{L}*|immer|samtliche\\p{L}*|ausschliesslich|tous|toutes|toujours|todos|todas|siempre|tutti|tutte|sempre',
  '全部|所有|唯一|都是|すべて|全て|唯一|必ず',
);

/** Words that generalize to all; before `day` or `year` they only say how often. */
export const UNIVERSAL = wordList(
  'every(?! (?:day|week|month|year|time|hour|\\p{L}+ (?:days|years|months)))|all(?!\\u0027| \\d)|always|never|alle(?! \\d)|samtliche\\p{L}*|immer(?! noch)|einstimmig|' +
    'tous(?! les (?:jours|ans|mois|\\p{L}+ (?:ans|mois|jours)))|toujours|todos(?! los (?:dias|anos|meses))|siempre|unanim\\p{L}*|tutti(?! i giorni| gli anni)|sempre',
  '全部|所有|全員|一致(?!する)|すべての',
);

/** Words that turn a superlative into the second or third of its kind. */
export const RANKED = wordList(
  '(?:second|third|fourth|fifth|sixth|2nd|3rd|4th)[ -]\\p{L}{3,}(?:est|st)|(?:zweit|dritt|viert|funft)\\p{L}+st\\p{L}*|(?:deuxieme|troisieme|quatrieme|cinquieme)(?: \\p{L}+)? (?:la |le )?plus|' +
    '(?:segund|tercer|cuart|quint)[oa]?(?: \\p{L}+)? mas|(?:second|terz|quart|quint)[oa](?: \\p{L}+)? piu',
  '第[二三四五]|[2-5]番目|[二三四]番',
);

/** Words that exclude each other in the same place of a copied sentence: `north` for `south`. */
export const EXCLUSIVE: readonly (readonly WordList[])[] = [
  [
    wordList('north\\p{L}*|nord\\p{L}*|nort\\p{L}*|settentrional\\p{L}*|septentrional\\p{L}*|север\\p{L}*', '北'),
    wordList(
      'south\\p{L}*|sud|sud[oeu]\\p{L}*|sudlich\\p{L}*|sur|sure[nos]\\p{L}*|meridional\\p{L}*|юг|юж\\p{L}*|юго\\p{L}*',
      '南',
    ),
    wordList('east\\p{L}*|ost|osten\\p{L}*|ostlich\\p{L}*|est|este|orient\\p{L}*|восток\\p{L}*|восточ\\p{L}*', '东|東'),
    wordList('west\\p{L}*|ouest|oeste|ovest|occident\\p{L}*|запад\\p{L}*', '西'),
  ],
  [
    wordList('before|prior|until|vor|bevor|bis|avant|antes|prima|до|перед|прежде', '之前|以前|前'),
    wordList('after|since|following|nach|nachdem|seit|apres|depuis|despues|tras|dopo|после', '之后|以后|以後|后|後'),
  ],
  [
    wordList('first|erste\\p{L}*|premi\\p{L}*|primer\\p{L}*|primo|перв\\p{L}*', '第一|第1|首'),
    wordList('second|zweite\\p{L}*|deuxi\\p{L}*|segund[oa]|secondo|втор\\p{L}*', '第二|第2'),
    wordList('third|dritte\\p{L}*|troisi\\p{L}*|tercer\\p{L}*|terz[oa]|трет\\p{L}*', '第三|第3'),
    wordList('fourth|vierte\\p{L}*|quatri\\p{L}*|cuart[oa]|quart[oa]|четверт\\p{L}*', '第四|第4'),
    wordList('fifth|funfte\\p{L}*|cinqui\\p{L}*|quint[oa]|пят\\p{L}*', '第五|第5'),
    wordList('last|final|letzte\\p{L}*|dernier\\p{L}*|ultim[oa]|последн\\p{L}*', '最后|最後'),
  ],
  [
    wordList(
      'larg\\p{L}*|big\\p{L}*|great\\p{L}*|gross\\p{L}*|größ\\p{L}*|grand\\p{L}*|mayor\\p{L}*|maggior\\p{L}*|крупн\\p{L}*|больш\\p{L}*|high\\p{L}*|hoch\\p{L}*|hoh\\p{L}*|haut\\p{L}*|alt[oaie]s?|выс\\p{L}*|long\\p{L}*|lang\\p{L}*|larg\\p{L}*|lung\\p{L}*|длин\\p{L}*|up|upper|rose|risen|above|upward\\p{L}*',
      '大|高|长|長|上',
    ),
    wordList(
      'small\\p{L}*|little|klein\\p{L}*|petit\\p{L}*|menor\\p{L}*|minor\\p{L}*|мельч\\p{L}*|мал\\p{L}*|low\\p{L}*|niedrig\\p{L}*|tief\\p{L}*|bas|bass\\p{L}*|baj\\p{L}*|низ\\p{L}*|short\\p{L}*|kurz\\p{L}*|court\\p{L}*|cort\\p{L}*|корот\\p{L}*|down|fell|fallen|below|downward\\p{L}*',
      '小|低|短|下',
    ),
  ],
  [
    wordList(
      'old\\p{L}*|altest\\p{L}*|alter\\p{L}*|ancien\\p{L}*|antigu\\p{L}*|viej\\p{L}*|antic\\p{L}*|vecchi\\p{L}*|стар\\p{L}*|early|earlier|earliest',
      '古|老|早',
    ),
    wordList(
      'young\\p{L}*|new\\p{L}*|jung\\p{L}*|neu\\p{L}*|jeune\\p{L}*|nouve\\p{L}*|joven\\p{L}*|nuev\\p{L}*|giovan\\p{L}*|nuov\\p{L}*|молод\\p{L}*|нов\\p{L}*|late|later|latest',
      '新|年轻|若|晚|遅',
    ),
  ],
  [
    wordList(
      'more|mehr|plus|mas|piu|более|больше|at least|mindestens|au moins|al menos|almeno|minimum\\p{L}*|over|uber',
      '以上|超过|超過|至少|最少|多',
    ),
    wordList(
      'less|fewer|weniger|moins|menos|meno|менее|меньше|at most|hochstens|au plus|como maximo|al massimo|maximum\\p{L}*|under|unter',
      '以下|不到|未满|未満|至多|最多|少',
    ),
  ],
  [
    wordList(
      'most|many|majority|mehrheit|meist\\p{L}*|viele\\p{L}*|la plupart|mayoria|muchos|maggioranza|molti|большинств\\p{L}*|много|многие',
      '大多数|多数',
    ),
    wordList(
      'few|minority|some|minderheit|wenige|einige|minorite|quelques|minoria|pocos|algunos|minoranza|pochi|alcuni|меньшинств\\p{L}*|мало|немногие',
      '少数',
    ),
    wordList('all|every|alle|jede\\p{L}*|tous|toutes|todos|todas|tutti|tutte|все', '全部|所有|すべて'),
    wordList('none|no|kein\\p{L}*|aucun\\p{L}*|ningun\\p{L}*|nessun\\p{L}*', ''),
  ],
  [
    wordList(
      'men|man|male\\p{L}*|boys?|father\\p{L}*|manner\\p{L}*|mannlich\\p{L}*|hommes?|hombres?|uomini|uomo|мужчин\\p{L}*',
      '男',
    ),
    wordList(
      'women|woman|female\\p{L}*|girls?|mother\\p{L}*|frauen|frau|weiblich\\p{L}*|femmes?|mujer\\p{L}*|donn[ae]|женщин\\p{L}*',
      '女',
    ),
  ],
  [
    wordList('export\\p{L}*|ausfuhr\\p{L}*|esporta\\p{L}*|экспорт\\p{L}*', '出口|輸出'),
    wordList('import(?:s|ed|ing)?|einfuhr\\p{L}*|importa\\p{L}*|импорт\\p{L}*', '进口|輸入'),
  ],
  [
    wordList('left|links|linke\\p{L}*|gauche|izquierd\\p{L}*|sinistr\\p{L}*|лев\\p{L}*', '左'),
    wordList('right|rechts|rechte\\p{L}*|droite|derech\\p{L}*|destr\\p{L}*|прав(?:ый|ая|ой|ом|ую)', '右'),
  ],
  [
    wordList('open\\p{L}*|offn\\p{L}*|eroffn\\p{L}*|ouv\\p{L}*|abr[ie]\\p{L}*|apert\\p{L}*|apr[eio]\\p{L}*', '开放|開'),
    wordList(
      'clos\\p{L}*|schliess\\p{L}*|geschlossen\\p{L}*|ferm\\p{L}*|cerr\\p{L}*|cierr\\p{L}*|chius\\p{L}*|chiud\\p{L}*|fech\\p{L}*',
      '关闭|閉',
    ),
  ],
  [
    wordList('on(?= by default)|(?<=(?:turned|switched) )on|activ\\p{L}*|enabl\\p{L}*|aktiv\\p{L}*|attiv\\p{L}*', ''),
    wordList(
      'off(?= by default)|(?<=(?:turned|switched) )off|deactiv\\p{L}*|disabl\\p{L}*|deaktiv\\p{L}*|desactiv\\p{L}*|disattiv\\p{L}*',
      '',
    ),
  ],
  [
    wordList(
      'add(?:s|ed|ing)?|introduc\\p{L}*|hinzu\\p{L}*|ajout\\p{L}*|anad\\p{L}*|aggiun\\p{L}*|adicion\\p{L}*',
      '新增|追加',
    ),
    wordList(
      'remov\\p{L}*|drop(?:s|ped|ping)?|delet\\p{L}*|entfern\\p{L}*|gestrichen|supprim\\p{L}*|elimin\\p{L}*|suprim\\p{L}*|rimo\\p{L}*|remov\\p{L}*',
      '删除|削除|取消',
    ),
  ],
  [
    wordList(
      'b(?:uy|ought|uys|uying)|purchas\\p{L}*|acqui\\p{L}*|kauf\\p{L}*|gekauft|erwarb\\p{L}*|achet\\p{L}*|compr[aoó]\\p{L}*',
      '收购|购买|買収|購入',
    ),
    wordList('s(?:ell|old|ells|elling)|verkauf\\p{L}*|vend[aeiou]\\p{L}*', '出售|卖|売却|販売'),
  ],
  [
    wordList(
      'w(?:in|on|ins|inning)|gain(?:s|ed|ing)?|gewann\\p{L}*|gewonnen|gewinnt|gewinnen|gagn\\p{L}*|gan[ao]\\p{L}*|vinc\\p{L}*|vinse\\p{L}*|vint[oa]\\p{L}*',
      '赢|胜|勝',
    ),
    wordList('los(?:t|e|es|ing)|verliert|verlieren|verlor\\p{L}*|perd\\p{L}*|perse\\p{L}*', '输|败|敗|負'),
  ],
  [
    wordList('profit\\p{L}*|gewinn\\p{L}*|benefic\\p{L}*|utile|lucr\\p{L}*', '利润|盈利|黒字|利益'),
    wordList('loss(?:es)?|verlust\\p{L}*|pertes?|perdidas?|perdit[ae]|prejuizos?', '亏损|赤字|損失'),
  ],
  [
    wordList('heav\\p{L}*|schwer\\p{L}*|lourd\\p{L}*|pesad\\p{L}*|pesant\\p{L}*', '重'),
    wordList('light(?:er|est)?|leicht\\p{L}*|leg(?:er|ier)\\p{L}*|liger\\p{L}*|leggi?er\\p{L}*|leve', '轻|軽'),
  ],
  [
    wordList('warm\\p{L}*|hot(?:ter|test)?|heiss\\p{L}*|chaud\\p{L}*|calid\\p{L}*|cald\\p{L}*|quente', '热|暖|暑'),
    wordList('cold\\p{L}*|cool\\p{L}*|kalt\\p{L}*|kalter\\p{L}*|froid\\p{L}*|fri[oa]\\p{L}*|fredd\\p{L}*', '冷|寒'),
  ],
  [
    wordList('strong\\p{L}*|stark\\p{L}*|fort|forte\\p{L}*|fuert\\p{L}*', '强|強'),
    wordList('weak\\p{L}*|schwach\\p{L}*|faibl\\p{L}*|debil\\p{L}*|debol\\p{L}*|frac[oa]s?', '弱'),
  ],
  [
    wordList('cheap\\p{L}*|billig\\p{L}*|gunstig\\p{L}*|bon marche|barat\\p{L}*|economic[oi]', '便宜|安'),
    wordList('expensiv\\p{L}*|costl\\p{L}*|teuer\\p{L}*|teur\\p{L}*|cher|chers|chere\\p{L}*|car[oa]s?', '昂贵|高价'),
  ],
  [wordList('positiv\\p{L}*', '阳性|陽性'), wordList('negativ\\p{L}*', '阴性|陰性')],
  [
    wordList(
      'doubl\\p{L}*|twice|twofold|verdoppel\\p{L}*|dupli[ck]\\p{L}*|raddoppi\\p{L}*|dobr(?:ou|aram|ar)',
      '翻番|倍増',
    ),
    wordList('tripl\\p{L}*|trebl\\p{L}*|threefold|verdreifach\\p{L}*', '三倍'),
    wordList('quadrupl\\p{L}*|fourfold|vervierfach\\p{L}*|cuadrupl\\p{L}*', '四倍'),
    wordList('halv\\p{L}*|halbier\\p{L}*|dimezz\\p{L}*', '减半|半減'),
  ],
  [
    wordList('hours?|hourly|stund\\p{L}*|heures?|horas?|ore|ora', '小时|時間'),
    wordList('days?|daily|tage?n?|taglich\\p{L}*|jours?|quotidien\\p{L}*|dias?|diari\\p{L}*|giorn\\p{L}*', '天|日'),
    wordList(
      'weeks?|weekly|wochen?|wochentlich\\p{L}*|semaines?|hebdomadaire\\p{L}*|semanas?|semanal\\p{L}*|settiman\\p{L}*',
      '周|週',
    ),
    wordList(
      'months?|monthly|monate?n?|monatlich\\p{L}*|mois|mensuel\\p{L}*|mes|meses|mensual\\p{L}*|mes[ei]|mensil\\p{L}*',
      '月',
    ),
    wordList(
      'years?|yearly|annual\\p{L}*|jahre?n?|jahrlich\\p{L}*|ans?|annees?|annuel\\p{L}*|anos?|anual\\p{L}*|ann[oi]',
      '年',
    ),
  ],
  [
    wordList('public\\p{L}*|offentlich\\p{L}*|publique\\p{L}*|pubblic\\p{L}*|государствен\\p{L}*', '公立|公共'),
    wordList('privat\\p{L}*|prive\\p{L}*|частн\\p{L}*', '私立|私有|私人'),
  ],
  [
    wordList('monday|montags?|lundi|lunes|lunedi|segunda-feira|понедельник\\p{L}*', '周一|星期一|月曜'),
    wordList('tuesday|dienstags?|mardi|martes|martedi|terca-feira|вторник\\p{L}*', '周二|星期二|火曜'),
    wordList('wednesday|mittwochs?|mercredi|miercoles|mercoledi|quarta-feira|сред[уы]', '周三|星期三|水曜'),
    wordList('thursday|donnerstags?|jeudi|jueves|giovedi|quinta-feira|четверг\\p{L}*', '周四|星期四|木曜'),
    wordList('friday|freitags?|vendredi|viernes|venerdi|sexta-feira|пятниц\\p{L}*', '周五|星期五|金曜'),
    wordList('saturday|samstags?|sonnabends?|samedi|sabado|sabato|суббот\\p{L}*', '周六|星期六|土曜'),
    wordList('sunday|sonntags?|dimanche|domingo|domenica|воскресень\\p{L}*', '周日|星期日|日曜'),
  ],
];
