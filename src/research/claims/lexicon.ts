import { WordList } from './text/word-list.ts';

/**
 * Words that turn what a sentence says, as patterns of folded text: what is denied, what goes up or down, what is only
 * planned. Languages share the tables: a claim and its source are of one language or of two.
 */

const either = (words: string, signs: string) => new WordList(words, signs);

/** Words that deny what stands near them. */
export const NEGATIONS = either(
  "not(?! (?:more|less|fewer|later) than)|no(?! (?:more|less|fewer|later|mas|menos) (?:than|de))|never|neither|nor|none|without|cannot|\\p{L}+n't|nobody|nothing|nowhere|hardly|" +
    'nicht(?! (?:mehr|weniger) als)|kein|keine|keinen|keinem|keiner|keines|nie|niemals|ohne|weder|nichts|niemand|' +
    "ne|n'\\p{L}+|pas(?! (?:plus|moins) d)|jamais|aucun|aucune|sans|ni|nunca|jamas|sin|ningun|ninguna|ninguno|tampoco|nadie|nada|" +
    'non(?!-| (?:piu|meno) di)|nessun|nessuno|nessuna|senza|ne|не|нет|без|никогда|ни',
  '不(?!足(?!以)|得?超|低于|高于|到|同|断|斷|仅|僅|少|过|過|久|锈|动|動)|没|無(?!料|線)|无(?!锡|线)|未(?!来|來|满|満)|非(?!常|洲)|(?<!少|危|なら|いけ)ない(?!と)|(?<!なり|いけ)ません|なかった|ずに|なし|لم|لن|ليس|لا|بدون',
);

/** Verbs that deny by themselves: `failed to` says what `did not` says. */
export const DENIALS = either(
  'fail\\p{L}*|cess\\p{L}*|fallo|fallar\\p{L}*|moved? away|ceas\\p{L}*|quit|left|lack\\p{L}*|abolish\\p{L}*|absen\\p{L}*|refus\\p{L}*|reject\\p{L}*|den(?:y|ied|ies)|avoid\\p{L}*|except|unable|remov\\p{L}*|' +
    'instead|rather|disappear\\p{L}*|vanish\\p{L}*|rul(?:e|es|ed) out|mere|drop\\p{L}*|prevent\\p{L}*|stop\\p{L}*|end(?:ed|s)?|unchanged|exclud\\p{L}*|free of|un(?:able|chang|affect|know|like|success|avail|alter|resolv)\\p{L}*|in(?:comp|depen|eff|val|vis)\\p{L}*|' +
    'abgeschafft|verzicht\\p{L}*|fehl\\p{L}*|verfehl\\p{L}*|schl(?:oss|iess)\\p{L}*(?= .{0,60} aus(?!\\p{L}))|abgelehnt|lehn\\p{L}*|verweiger\\p{L}*|gescheitert|scheiter\\p{L}*|unverandert|ausgeschlossen|kostenlos|frei|' +
    'supprim\\p{L}*|refus\\p{L}*|rejet\\p{L}*|echou\\p{L}*|gratuit\\p{L}*|exclu\\p{L}*|manqu\\p{L}*|' +
    'suprim\\p{L}*|rechaz\\p{L}*|fracas\\p{L}*|n(?:i?e)g[oa]\\p{L}*|carec\\p{L}*|falt\\p{L}*|abol\\p{L}*|' +
    'rifiut\\p{L}*|respin\\p{L}*|manca\\p{L}*|esclu\\p{L}*',
  '拒绝|拒否|取消|废除|廃止|失败|失敗|禁止|免',
);

/** What is only planned, expected or possible. */
export const HEDGES = either(
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

/** Opposites: what one side says, the other denies. */
export const OPPOSITES: readonly (readonly [WordList, WordList])[] = [
  [
    either(
      'similar\\p{L}*|same|unchanged|equal\\p{L}*|stable|identical|steady|comparable|gleich|ahnlich\\p{L}*|unverandert\\p{L}*|stabil\\p{L}*|vergleichbar\\p{L}*|identique\\p{L}*|' +
        'semblable\\p{L}*|stables?|inchange\\p{L}*|comparables?|igual\\p{L}*|similares|establ\\p{L}*|uguale|simil[ei]|stabile|invariat\\p{L}*',
      '相同|相似|持平|不变|類似|同程度|同じ|横ばい',
    ),
    either(
      'different|higher|lower|greater|less|fewer|worse|better|increas\\p{L}*|decreas\\p{L}*|rose|fell|hoher|niedriger|geringer|besser|schlechter|gestiegen|gefallen|stieg\\p{L}*|sank\\p{L}*|' +
        'superieur\\p{L}*|inferieur\\p{L}*|augment\\p{L}*|diminu\\p{L}*|baiss\\p{L}*|mayor|menor|aument\\p{L}*|disminu\\p{L}*|maggiore|minore|superiore|inferiore',
      '高于|低于|增加|减少|上升|下降|上昇|低下|増加|減少',
    ),
  ],
  [
    either(
      'ris(?:e|es|en|ing)|rose|increas\\p{L}*|grow\\p{L}*|grew|gain\\p{L}*|climb\\p{L}*|surg\\p{L}*|jump\\p{L}*|soar\\p{L}*|higher|expand\\p{L}*|' +
        'improv\\p{L}*|doubl\\p{L}*|tripl\\p{L}*|longer|greater|mayor(?:es)?|upward|strengthen\\p{L}*|accelerat\\p{L}*|widen\\p{L}*|up(?= \\d| by)|(?<=% )(?:mas|plus|piu)|rais(?:e|ed|es)|above|exceed\\p{L}*|better|faster|larger|more|mehr|' +
        'verlanger\\p{L}*|beschleunig\\p{L}*|erweiter\\p{L}*|anheb\\p{L}*|angehoben|hob|ausgebaut|ausbau\\p{L}*|gestiegen|stieg|stiegen|steig\\p{L}*|anstieg\\p{L}*|zunahme|zugenommen|erhoh\\p{L}*|wuchs\\p{L}*|wachs\\p{L}*|gewachsen|hoher\\p{L}*|langer|verbesser\\p{L}*|kletter\\p{L}*|zugelegt|uberschr\\p{L}*|ubertr\\p{L}*|schneller|besser|verdoppel\\p{L}*|' +
        'acceler\\p{L}*|allong\\p{L}*|prolong\\p{L}*|elargi\\p{L}*|bondi\\p{L}*|plus (?:grand|eleve|important)\\p{L}*|en plus|de plus|augment\\p{L}*|hausse|progress\\p{L}*|grimp\\p{L}*|croiss\\p{L}*|accru\\p{L}*|superieur\\p{L}*|amelior\\p{L}*|doubl\\p{L}*|depass\\p{L}*|releve\\p{L}*|' +
        'aceler\\p{L}*|alarg\\p{L}*|ampli[ao]\\p{L}*|de mas|aument\\p{L}*|subi(?:do|o|eron)|sube|suben|crec\\p{L}*|increment\\p{L}*|alza|mejor\\p{L}*|supero|supera|superaron|' +
        'acceler\\p{L}*|allung\\p{L}*|in piu|crescit\\p{L}*|cresc\\p{L}*|cresciut\\p{L}*|salit\\p{L}*|salgono|superior\\p{L}*|maggiore|rialz\\p{L}*|miglior\\p{L}*|incremen\\p{L}*|' +
        'вырос\\p{L}*|рост\\p{L}*|увелич\\p{L}*|повы\\p{L}*|поднял\\p{L}*|выше',
      '增加|增长|增長|上升|上涨|提高|增至|升至|攀升|扩大|高于|超出|多于|加快|加速|提升|延长|增え|上昇|上回|増大|増(?!税)|増加|伸び|高ま|増収|増益|延び|拡大|长于|引き上げ|高い|高く|高かっ|長く|延長|多い|多く',
    ),
    either(
      'fall\\p{L}*|fell|declin\\p{L}*|decreas\\p{L}*|drop\\p{L}*|lower\\p{L}*|reduc\\p{L}*|shr[aiu]nk\\p{L}*|cut|cuts|cutting|fewer|less|shorter|worse\\p{L}*|halv\\p{L}*|slump\\p{L}*|' +
        'plung\\p{L}*|slip\\p{L}*|slid|slides?|dip(?:s|ped)?|zuruck|tumbl\\p{L}*|downward|weaken\\p{L}*|(?<=% )(?:menos|moins|meno)|slow\\p{L}*|narrow\\p{L}*|down|below|smaller|weniger|moins|' +
        'gefallen|fiel|fielen|fallt|sank|sanken|sink\\p{L}*|gesunken|ruckgang\\p{L}*|abnahme|abgenommen|verringer\\p{L}*|reduzier\\p{L}*|niedriger\\p{L}*|kurzer|schrumpf\\p{L}*|geschrumpft|gesenkt|senk\\p{L}*|zuruckg\\p{L}*|unterschr\\p{L}*|langsamer|schlechter|halbier\\p{L}*|verkurz\\p{L}*|verlangsam\\p{L}*|eingebrochen|abgebaut|abbau\\p{L}*|nachgelassen|verschlechter\\p{L}*|' +
        'moindre|raccourci\\p{L}*|effondr\\p{L}*|flechi\\p{L}*|moins (?:grand|eleve|important)\\p{L}*|en moins|de moins|baiss\\p{L}*|diminu\\p{L}*|recul\\p{L}*|chut\\p{L}*|redui\\p{L}*|inferieur\\p{L}*|repli\\p{L}*|abaiss\\p{L}*|ralenti\\p{L}*|' +
        'ralentiz\\p{L}*|acort\\p{L}*|recort\\p{L}*|desplom\\p{L}*|rebaj\\p{L}*|de menos|disminu\\p{L}*|baj[aoe]|bajaron|bajar|cay\\p{L}*|cae|caen|caid\\p{L}*|descend\\p{L}*|reduc\\p{L}*|reduj\\p{L}*|menor|descens\\p{L}*|retroced\\p{L}*|empeor\\p{L}*|' +
        'rallent\\p{L}*|accorci\\p{L}*|taglia\\p{L}*|croll\\p{L}*|in meno|diminui\\p{L}*|cal(?:o|a|ano|at\\p{L}*|arono|ando)|scend\\p{L}*|sces[aoie]|ridott\\p{L}*|riduz\\p{L}*|riduc\\p{L}*|inferior\\p{L}*|minore|ribass\\p{L}*|peggior\\p{L}*|' +
        'сниз\\p{L}*|упал\\p{L}*|паден\\p{L}*|сократ\\p{L}*|уменьш\\p{L}*|ниже',
      '减少|減少|下降|下跌|降低|降至|跌至|缩小|下滑|低于|少于|放缓|变慢|缩短|减至|减慢|減っ|減る|低下|下落|減(?!税)|下回|縮小|短く|落ち|減収|減益|縮ま|引き下げ|低い|低く|低かっ|短縮|少ない|少なく',
    ),
  ],
  [
    either(
      'remain\\p{L}*|continu\\p{L}*|bleib\\p{L}*|blieb\\p{L}*|mantien\\p{L}*|permanec\\p{L}*|rimane|rimarr\\p{L}*|introduc\\p{L}*|launch\\p{L}*|open(?:s|ed|ing)?|start\\p{L}*|beg[aiu]n\\p{L}*|found(?:s|ed)?|establish\\p{L}*|creat\\p{L}*|' +
        'eingefuhrt|einfuhr\\p{L}*|fuhrt?e?n?|eroffn\\p{L}*|offnet\\p{L}*|geoffnet|beginn\\p{L}*|begann\\p{L}*|gegrundet|grundet\\p{L}*|gestartet|' +
        'introdui\\p{L}*|ouver\\p{L}*|ouvr\\p{L}*|inaugur\\p{L}*|commenc\\p{L}*|fondee?s?|lancee?s?|creee?s?|instaur\\p{L}*|' +
        'introduj\\p{L}*|abri\\p{L}*|abiert\\p{L}*|inici\\p{L}*|empez\\p{L}*|comenz\\p{L}*|fundad\\p{L}*|fundo|fundacion|lanz\\p{L}*|' +
        'introdott\\p{L}*|apert\\p{L}*|apr[ei]\\p{L}*|inizi\\p{L}*|comincia\\p{L}*|fondat\\p{L}*|lancia\\p{L}*',
      '开始|开放|成立|创立|启用|开业|引入|推出|开通|実施|導入|開始|開業|設立|創業|開館|開通|オープン',
    ),
    either(
      'abolish\\p{L}*|close(?! to)|clos(?:es|ed|ing)|closure|shut\\p{L}*|end(?:s|ed)|discontinu\\p{L}*|cancel\\p{L}*|dissolv\\p{L}*|scrap\\p{L}*|suspend\\p{L}*|withdr\\p{L}*|repeal\\p{L}*|' +
        'abgeschafft|abschaff\\p{L}*|schaffte\\p{L}*|geschlossen|schliess\\p{L}*|schloss|eingestellt|beendet|endete\\p{L}*|aufgelost|stillgelegt|' +
        'supprim\\p{L}*|ferm\\p{L}*|aboli\\p{L}*|terminee?s?|dissou\\p{L}*|suspend\\p{L}*|acheve\\p{L}*|' +
        'cerr[ao]\\p{L}*|suprim\\p{L}*|abol\\p{L}*|terminad\\p{L}*|termino|clausur\\p{L}*|disol\\p{L}*|' +
        'chius\\p{L}*|chiud\\p{L}*|abolit\\p{L}*|terminat\\p{L}*|sospe\\p{L}*',
      '结束|关闭|废除|取消|停止|停业|撤销|解散|终止|廃止|終了|閉館|閉鎖|閉業|中止',
    ),
  ],
  [
    either(
      'won|wins?|winning|winner|victor\\p{L}*|beat|defeated|gewann\\p{L}*|gewonnen|gewinn\\p{L}*|siegt?e?|gagn\\p{L}*|remport\\p{L}*|gan[oa]\\p{L}*|vinse|vinc\\p{L}*|vinto|победил\\p{L}*|выигра\\p{L}*',
      '获胜|赢得|战胜|击败|勝利|優勝|勝っ|破っ',
    ),
    either(
      'lost|loses?|losing|verlor\\p{L}*|verliert|perd\\p{L}*|perdi[oe]\\p{L}*|pers[oe]|проигра\\p{L}*',
      '失利|输给|败给|战败|敗れ|敗北|負け',
    ),
  ],
  [
    either(
      'bought|buys?|purchas\\p{L}*|acquir\\p{L}*|gekauft|kauf(?:t|te|ten|en)|ubern(?:ahm|omm)\\p{L}*|erw(?:arb|orb)\\p{L}*|achet\\p{L}*|acqui\\p{L}*|rachet\\p{L}*|compr[oa]\\p{L}*|adquir\\p{L}*|acquist\\p{L}*',
      '收购|购买|买入|買収|購入',
    ),
    either(
      'sold|sells?|selling|divest\\p{L}*|verkauf\\p{L}*|verausser\\p{L}*|vend[uirte]\\p{L}*|ced[eéo]\\p{L}*|vendi\\p{L}*',
      '出售|卖出|売却|販売',
    ),
  ],
  [
    either(
      'approv\\p{L}*|accept\\p{L}*|allow\\p{L}*|permit\\p{L}*|support\\p{L}*|endors\\p{L}*|legal\\p{L}*|upheld|in favou?r|agree\\p{L}*|confirm\\p{L}*|' +
        'genehmig\\p{L}*|angenommen|erlaub\\p{L}*|zugelassen|unterstutz\\p{L}*|zugestimmt|stimmte\\p{L}*|bestatig\\p{L}*|befurwort\\p{L}*|gebilligt|billigt\\p{L}*|' +
        'approuv\\p{L}*|accept\\p{L}*|autoris\\p{L}*|adopt\\p{L}*|soutien\\p{L}*|soutenu\\p{L}*|valid\\p{L}*|confirm\\p{L}*|favorable\\p{L}*|' +
        'permess\\p{L}*|aprob\\p{L}*|acept\\p{L}*|permit\\p{L}*|autoriz\\p{L}*|apoy\\p{L}*|favor|approv\\p{L}*|accett\\p{L}*|consent\\p{L}*|autorizz\\p{L}*|sosten\\p{L}*|favore',
      '批准|通过|允许|支持|同意|赞成|接受|承認|許可|賛成|可決|認め|支持',
    ),
    either(
      'reject\\p{L}*|refus\\p{L}*|ban|bans|banned|prohibit\\p{L}*|forb\\p{L}*|den(?:y|ied)|oppos\\p{L}*|veto\\p{L}*|illegal|overturn\\p{L}*|block(?:ed|s)|dismiss\\p{L}*|' +
        'abgelehnt|lehnt|lehnen|ablehn\\p{L}*|lehnte\\p{L}*|verbot\\p{L}*|verbiet\\p{L}*|untersagt\\p{L}*|zuruckgewiesen|verworfen|gegen|' +
        'rejet\\p{L}*|refus\\p{L}*|interdi\\p{L}*|oppos\\p{L}*|annul\\p{L}*|rechaz\\p{L}*|prohib\\p{L}*|opus\\p{L}*|opon\\p{L}*|' +
        'respin\\p{L}*|rifiut\\p{L}*|vieta\\p{L}*|bocci\\p{L}*',
      '拒绝|禁止|反对|否决|驳回|拒否|反対|否決|却下|否定|否认',
    ),
  ],
  [
    either(
      'necessary|required|compulsory|mandatory|forced|obliged|gezwungen|zwang\\p{L}*|contraint\\p{L}*|forcee?s?|obligad[oa]s?|costrett[oaie]|notwendig|erforderlich|verpflichtend|obligatoires?|obligatori[oa]s?|necesari[oa]s?|necessari[oa]',
      '必要|必须|被迫|强制|強制',
    ),
    either(
      'unnecessary|optional|voluntar\\p{L}*|unnotig|freiwillig\\p{L}*|facultati[fv]\\p{L}*|innecesari[oa]s?|volontair\\p{L}*|volontari\\p{L}*|facoltativ[oaie]|superflu[oaie]',
      '不要|不必|无需|自愿|自発',
    ),
  ],
  [
    either('before|prior to|earlier than|bevor|avant|antes|prima di|prima del', '之前|以前|前に'),
    either('after|later than|nachdem|danach|apres|despues|tras|dopo', '之后|以后|後に|のち'),
  ],
  [
    either(
      'largest|biggest|longest|highest|tallest|most|oldest|greatest|fastest|busiest|heaviest|deepest|widest|richest|grosste\\p{L}*|langste\\p{L}*|hochste\\p{L}*|meiste\\p{L}*|alteste\\p{L}*|schnellste\\p{L}*|plus grand\\p{L}*|plus long\\p{L}*|plus haut\\p{L}*|mas grande\\p{L}*|mas larg\\p{L}*|mas alt\\p{L}*|piu grand\\p{L}*|piu lung\\p{L}*|piu alt\\p{L}*',
      '最大|最长|最長|最高|最多|最古|最快',
    ),
    either(
      'smallest|shortest|lowest|least|youngest|slowest|lightest|poorest|kleinste\\p{L}*|kurzeste\\p{L}*|niedrigste\\p{L}*|wenigsten|jungste\\p{L}*|plus petit\\p{L}*|plus court\\p{L}*|plus bas\\p{L}*|mas pequen\\p{L}*|mas cort\\p{L}*|mas baj\\p{L}*|piu piccol\\p{L}*|piu cort\\p{L}*|piu bass\\p{L}*',
      '最小|最短|最低|最少',
    ),
  ],
  [
    either('north\\p{L}*|nord\\p{L}*|nordlich\\p{L}*|norte|settentrional\\p{L}*|север\\p{L}*', '北'),
    either(
      'south\\p{L}*|sud\\p{L}*|sudlich\\p{L}*|del sur|al sur|el sur|sureste|suroeste|meridional\\p{L}*|юг\\p{L}*|южн\\p{L}*',
      '南',
    ),
  ],
  [
    either(
      'east\\p{L}*|ost|osten|ostlich\\p{L}*|(?:a|de) l.est|l.est de|dell.est|ad est|orient\\p{L}*|восто\\p{L}*',
      '东|東',
    ),
    either('west\\p{L}*|westlich\\p{L}*|ouest|oeste|occident\\p{L}*|ovest|запад\\p{L}*', '西'),
  ],
  [
    either('export\\p{L}*|ausfuhr\\p{L}*|exportier\\p{L}*|esport\\p{L}*', '出口|輸出'),
    either(
      'import(?:s|ed|ing)?|einfuhr\\p{L}*|importier\\p{L}*|importation\\p{L}*|importac\\p{L}*|importazion\\p{L}*',
      '进口|輸入',
    ),
  ],
  [
    either(
      'profits?|surplus\\p{L}*|gewinn\\p{L}*|uberschuss\\p{L}*|benefice\\p{L}*|excedent\\p{L}*|ganancia\\p{L}*|beneficio\\p{L}*|superavit|avanzo',
      '盈利|利润|黑字|黒字|盈余',
    ),
    either('loss|losses|deficit\\p{L}*|verlust\\p{L}*|defizit\\p{L}*|pertes?|perdidas?|perdite?', '亏损|赤字|損失'),
  ],
  [
    either('born|birth|geboren|geburt|naissance|nacid[oa]|nacio|nato a|nata a|nacque', '出生|诞生|生まれ|誕生'),
    either(
      'died|dies|death|gestorben|starb|tod|mort|morte|deced\\p{L}*|murio|muerte|mori|morto',
      '去世|逝世|死亡|亡くな|死去',
    ),
  ],
  [
    either('majority|mehrheit|majorite|mayoria|maggioranza', '多数|大半'),
    either('minority|minderheit|minorite|minoria|minoranza', '少数'),
  ],
  [
    either('wom[ae]n|female|girls?|frauen?|weiblich\\p{L}*|femmes?|feminin\\p{L}*|mujer(?:es)?|donn[ae]', '女性|女子'),
    either(
      'm[ae]n|male|boys?|manner\\p{L}*|mann|mannlich\\p{L}*|hommes?|masculin\\p{L}*|hombres?|uomini|uomo',
      '男性|男子',
    ),
  ],
  [
    either('includ(?:es?|ed)|inclu(?:s|t|ent|yen?)|incluid[oa]s?|inclus[oaie]|enthalten|enthalt', '包括|包含|含む'),
    either('exclu\\p{L}*|ausgenommen|ausgeschlossen|esclu\\p{L}*', '不包括|不含|除く|除外'),
  ],
  [
    either('warm\\p{L}*|hot\\p{L}*|heiss\\p{L}*|chaud\\p{L}*|calient\\p{L}*|cald\\p{L}*', '热|暑|暖'),
    either('cold\\p{L}*|cool\\p{L}*|kalt\\p{L}*|kuhl\\p{L}*|froid\\p{L}*|fri[oa]s?|fredd\\p{L}*', '冷|寒'),
  ],
];

/** How much of something is meant: all of it, or a part. */
export const ALL = either(
  'all|every|always|entire\\p{L}*|whole|solely|exclusively|alle|allen|aller|jede\\p{L}*|immer|samtliche\\p{L}*|ausschliesslich|tous|toutes|toujours|todos|todas|siempre|tutti|tutte|sempre',
  '全部|所有|唯一|都是|すべて|全て|唯一|必ず',
);
export const SOME = either(
  'some|many|most|several|partly|partially|often|sometimes|mostly|majority|few|half|one of|einige\\p{L}*|viele\\p{L}*|mehrere\\p{L}*|teilweise|oft|meist\\p{L}*|die meisten|certains|certaines|plusieurs|souvent|parfois|la plupart|algun\\p{L}*|much[oa]s|varios|varias|a veces|a menudo|la mayoria|alcun\\p{L}*|molt[ie]|divers[ie]|spesso|un des|une des|uno de|una de|uno dei|una delle|ein(?:e|er|es) der',
  '一些|部分|许多|多数|大多|之一|一部|多く|の一つ|ほとんど',
);

/** Superlatives, and what makes one the second or third. */
export const SUPERLATIVES = either(
  '\\p{L}{3,}est|most|\\p{L}+ste[nrsm]?|(?:le|la|les) plus|(?:el|la|los|las) mas|(?:il|la|i|le) piu|\\p{L}+ mas \\p{L}+|\\p{L}+ plus \\p{L}+|\\p{L}+ piu \\p{L}+|maggiore|mayor',
  '最|第一|首',
);
export const RANKED = either(
  '(?:second|third|fourth|fifth|sixth|2nd|3rd|4th)[ -]\\p{L}{3,}(?:est|st)|(?:zweit|dritt|viert|funft)\\p{L}+st\\p{L}*|(?:deuxieme|troisieme|quatrieme|cinquieme)(?: \\p{L}+)? (?:la |le )?plus|' +
    '(?:segund|tercer|cuart|quint)[oa]?(?: \\p{L}+)? mas|(?:second|terz|quart|quint)[oa](?: \\p{L}+)? piu',
  '第[二三四五]|[2-5]番目|[二三四]番',
);

/** What makes something the cause of another. */
export const CAUSES = either(
  'because|due to(?! be)|caus\\p{L}*|owing to|thanks to|led to|weil|wegen|aufgrund|infolge|dank|verursach\\p{L}*|parce que?|en raison|grace a|provoqu\\p{L}*|' +
    'porque|debido a|debid[oa]s? a|gracias a|provoc\\p{L}*|perche|a causa|dovut\\p{L}*|grazie a|provocat\\p{L}*',
  '因为|由于|导致|造成|ため(?!に)|せいで|つなが',
);
/** The same, and what may stand for it. */
export const REASONS = either(
  'because|du[e]?|caus\\p{L}*|owing|thanks|le[ad]d?s?|results?|resulted|after|following|since|as|so|by|reasons?|driven|hence|therefore|blam\\p{L}*|attribut\\p{L}*|explain\\p{L}*|with|' +
    'weil|wegen|aufgrund|infolge|durch|dank|verursach\\p{L}*|denn|nach|deshalb|daher|damit|grund\\p{L}*|fuhrt\\p{L}*|sodass|da|liegt|geht|' +
    'parce|raison\\p{L}*|grace|provoqu\\p{L}*|apres|suite|tien\\p{L}*|expliqu\\p{L}*|lie\\p{L}*|par|car|dus?|donc|' +
    'porque|debid\\p{L}*|gracias|provoc\\p{L}*|tras|por|motiv\\p{L}*|ya que|razon\\p{L}*|' +
    'perche|dovut\\p{L}*|grazie|dopo|per|motiv\\p{L}*|quindi|ragion\\p{L}*',
  '因|由于|导致|造成|使|ため|より|から|によ|ので|結果|结果|受|原因|つなが|せい|影响|影響',
);

/** What is said of one thing alone; before a number it says little. */
export const ALONE = either(
  'only(?! (?:one|two|three|four|five|about|around|\\d))|solely|exclusively|ausschliesslich|nur(?! (?:noch|rund|etwa|knapp|\\d))|uniquement|seulement(?! \\d)|solo(?! \\d)|solamente(?! \\d)|unicamente|soltanto(?! \\d)',
  '仅(?!有?\\d)|だけ|のみ',
);
/** What is said of all; of every day or year it is how often. */
export const UNIVERSAL = either(
  'every(?! (?:day|week|month|year|time|hour|\\p{L}+ (?:days|years|months)))|all(?!\\u0027| \\d)|always|never|alle(?! \\d)|samtliche\\p{L}*|immer(?! noch)|einstimmig|' +
    'tous(?! les (?:jours|ans|mois|\\p{L}+ (?:ans|mois|jours)))|toujours|todos(?! los (?:dias|anos|meses))|siempre|unanim\\p{L}*|tutti(?! i giorni| gli anni)|sempre',
  '全部|所有|全員|一致(?!する)|すべての',
);
/** What may be, and is no more than that. */
export const POSSIBLE = either(
  '(?<!(?:in|of|since|until|by|from|early|late|to|last|next|this|\\d)[ -])may(?! \\d)|might|could|possibly|perhaps|konnte\\p{L}*|moglicherweise|vielleicht|peut|peuvent|pourrai\\p{L}*|podria\\p{L}*|puede\\p{L}*|quizas?|potrebbe\\p{L}*|forse|puo|possono',
  '可能|或许|かもしれ',
);
/** What has no equal. */
export const STRONGEST = either(
  'largest|biggest|longest|highest|tallest|oldest|greatest|fastest|busiest|heaviest|deepest|widest|richest|smallest|shortest|lowest|youngest|slowest|poorest|(?:best|worst|most)[ -]\\p{L}+|ever|' +
    'gross?ß?te[nrsm]?|langste[nrsm]?|hochste[nrsm]?|alteste[nrsm]?|jungste[nrsm]?|schnellste[nrsm]?|kleinste[nrsm]?|kurzeste[nrsm]?|niedrigste[nrsm]?|beste[nrsm]?|meist\\p{L}*|' +
    '(?:le|la|les) (?:plus|mieux|moins) \\p{L}+|(?:el|la|los|las) (?:\\p{L}+ )?(?:mas|menos) \\p{L}+|(?:il|la|i|le) (?:\\p{L}+ )?(?:piu|meno) \\p{L}+|jamais (?:vu|enregistre)\\p{L}*',
  '最|首位|一番',
);
/** What says in a source that something is ahead of others. */
export const LEADS = either(
  'first|lead\\p{L}*|record\\p{L}*|top|most|best|erste\\p{L}*|fuhr\\p{L}*|premi\\p{L}*|primer\\p{L}*|prim[oa]|rekord\\p{L}*|maxim\\p{L}*',
  '第一|首|冠|トップ',
);
/** Before and behind, with and without: what is said of the same word. */
export const OPPOSED_PREPOSITIONS: ReadonlyMap<string, string> = new Map(
  [
    'vor nach',
    'before after',
    'avant apres',
    'antes despues',
    'prima dopo',
    'mit ohne',
    'with without',
    'avec sans',
    'con sin',
    'con senza',
  ].flatMap((pair): [string, string][] => {
    const [one = '', other = ''] = pair.split(' ');
    return [
      [one, other],
      [other, one],
    ];
  }),
);
