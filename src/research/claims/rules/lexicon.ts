import { WordList, wordGroups } from '../text/word-list.ts';

/**
 * Words that change the meaning of a sentence, as patterns of folded text: negations, directions, hedges. All languages
 * share the lists, because a claim and its source may be in different languages. `increas*` has any ending; after `~` are
 * the signs of scripts without spaces, which match anywhere.
 */

/** Words that negate the words near them. */
export const NEGATIONS = new WordList(String.raw`
not(?! (?:more|less|fewer|later) than)|no(?! (?:more|less|fewer|later|mas|menos) (?:than|de))|never|neither|nor|none|without|cannot|\p{L}+n't|nobody|nothing|nowhere|hardly
nicht(?! (?:mehr|weniger) als)|kein|keine|keinen|keinem|keiner|keines|nie|niemals|ohne|weder|nichts|niemand
ne|n'\p{L}+|pas(?! (?:plus|moins) d)|jamais|aucun|aucune|sans|ni|nunca|jamas|sin|ningun|ninguna|ninguno|tampoco|nadie|nada
non(?!-| (?:piu|meno) di)|nessun|nessuno|nessuna|senza|ne|не|нет|без|никогда|ни
~ 不(?!足(?!以)|得?超|低于|高于|到|同|断|斷|仅|僅|少|过|過|久|锈|动|動)|没|無(?!料|線)|无(?!锡|线)|未(?!来|來|满|満)|非(?!常|洲)|(?<!少|危|なら|いけ|満た)ない(?!と)|(?<!なり|いけ)ません|なかった|ずに|なし|(?<![؀-ۿ])[وف]?(?:لم|لن|ليست?|لا|بدون|غير)(?![؀-ۿ])
`);

/** Verbs that contain a negation: `failed to` means `did not`. */
export const DENIALS = new WordList(String.raw`
fail*|cess*|fallo|fallar*|moved? away|ceas*|quit|left|lack*|abolish*|absen*|refus*|reject*|den(?:y|ied|ies)|avoid*|except|unable|remov*
instead of|rather than|disappear*|vanish*|rul(?:e|es|ed) out|mere|drop*|prevent*|stop*|end(?:ed|s)?|unchanged|exclud*|exempt*|oppos(?:e[ds]?|ing)|opus*|free of|un(?:able|chang|affect|know|like|success|avail|alter|resolv)*|in(?:comp|depen|eff|val|vis)*
abgeschafft|befreit|ausgenommen|verzicht*|fehl*|verfehl*|schl(?:oss|iess)*(?= .{0,60} aus(?!\p{L}))|abgelehnt|lehn*|verweiger*|gescheitert|scheiter*|unverandert|ausgeschlossen|kostenlos|frei
supprim*|refus*|rejet*|echou*|gratuit*|exclu*|manqu*
suprim*|rechaz*|fracas*|n(?:i?e)g[oa]*|carec*|falt*|abol*
rifiut*|respin*|manca*|esclu*
~ 拒绝|拒否|取消|废除|廃止|失败|失敗|禁止|免
`);

/** Words for what is only planned, expected or possible. */
export const HEDGES = new WordList(String.raw`
(?<!(?:all|the|both|these|those|our|their|its|of) )plans?(?= (?:to|for|on|a|an)(?!\p{L}))|planned|planning|should|would|due to be|slated|(?:thought|believed|said|assumed|reported) to|reportedly|allegedly|presumably|(?<!(?:in|of|since|until|by|from|early|late|to|last|next|this|\d)[ -])may(?! \d)|might|expects?|expected|intends?|intended|proposed|aims?|hopes?|likely|unlikely|possibly|perhaps
probably|will|could|pending|(?:not|n.t) ruled? out|(?:was|were|is|are|has|have|had) (?:yet |still )?to|projected|forecasts?|considering|scheduled|pledg*|promis*|subject to|conditional (?:up)?on
soll|sollen|sollte|sollten|planen|plante|geplant|moglicherweise|voraussichtlich|wahrscheinlich|vermutlich|angeblich|wohl
durfte|durften|konnte*|noch aus|muss(?:en)? (?:\p{L}+ ){0,3}noch|vorbehaltlich|unter vorbehalt|rechne[nt]|rechnete*|in aussicht|erwart*|beabsichtig*|vorgesehen|versprach*|versprochen|vorschlag*
nicht aus(?:geschlossen|schliess*)|n.exclut pas|no (?:se )?descarta*|non esclude|devrait|devraient|doit|doivent|peut|peuvent|en attente|doit encore|doivent encore|pourrait|pourraient|prevoit|prevoient|prevu|prevue|prevus|envisag*|probable*|projette|souhaite|sous reserve|compte(?:nt)?(?= \p{L}+[ei]r)|veut|veulent|promet*
podria|podrian|posibl*|puede|pueden|falta que|pendientes?|preve|preven|previsto|prevista|planea|planean|proyecta|probable*|se espera|quiza|quizas|propone|pretende|deberia|quieren?|prometi*|sujet[oa]s? a|a la espera de|a condicion de
potrebbe|potrebbero|puo|possono|in attesa|deve ancora|devono ancora|dovrebbe|dovrebbero|previsto|prevista|prevede|prevedono|probabil*|forse|intende|punta a|vuole|vogliono|promes*
может|могут|возможн*|вероятн*|планиру*|намерен*|намерев*|предполага*|ожида*|рассматрива*|собира[ею]тся|долж(?:ен|на|но|ны)|будет|будут|если|прогноз*|предлож*|обеща*|при условии
~ 不排除|承诺|计划|計劃|规划|预计|仍需|尚待|可能|或许|或將|拟|将于|将会|将在|将|有望|预期|建议|予定|計画|見込|見通し|かもしれ|だろう|予想|目指|方針|(?<![؀-ۿ])و?قد [يتن]|متوقع|يتوقع|تتوقع|[يت]عتزم|[يت]خطط|مقرر|محتمل|ربما|[يت]مكن أن|سوف
`);

/** Further words for the future or for a possibility: in a claim they are enough to count as hedged. */
export const POSSIBLE = new WordList(`
can|allowed|permitted|entitled|whether|kann|konnen|darf|durfen|ob|targets?|goal|aim|objecti[fv]*|objetiv*|obiettiv*|ziel*|predict*|anticipat*|thought|fear*|posib*|possib*|vorgenommen|wird|werden|sera|seront|going to|potential*|moglich*|zukunftig|kunftig|konnt*|est attendue?|se preve|prevision|in programma
способ(?:ен|на|но|ны)|допуска*|позволя*|хочет|хотят|стрем*|цель*|планы?|потенциал*|опаса*|надея*|угро*
~ 見通|目标|目標|[يت]ريد|[يت]سعى|[يت]هدف|[يت]سمح|[يت]نوي
`);

/** Words for a date that depends on another one. */
export const RELATIVE = new WordList(String.raw`
yesterday|today|tomorrow|(?:last|this|next|previous|past|following|same) (?:year|quarter|month|week|spring|summer|autumn|winter|\p{L}+day)|(?:years?|months?|weeks?|days?) (?:ago|later|earlier|before|after)
gestern|heute|vorjahr*|(?:vergangen|vorig|letzt|dies|nachst|kommend|gleich|folgend)* (?:jahr|quartal|monat|woche|fruhjahr|sommer|herbst|winter|\p{L}+tag)*|(?:jahre|monate|wochen|tage) (?:spater|zuvor|danach|fruher|vorher)
hier|aujourd'hui|(?:an|annee|mois|semaine|trimestre|printemps|ete|automne|hiver|\p{L}+di) (?:dernier|derniere|passee?|prochaine?|precedente?|suivante?)|cette annee|(?:ans|annees|mois|semaines|jours) (?:plus tard|plus tot|auparavant|apres|avant)|il y a
ayer|hoy|ontem|hoje|(?:ano|mes|semana|trimestre) (?:pasad|passad|anterior|siguient|seguint|proxim)*|n?este ano|(?:anos|meses|semanas|dias) (?:despues|depois|antes|mas tarde|mais tarde)
ieri|oggi|(?:anno|mese|settimana|trimestre) (?:scors|precedent|successiv|prossim)*|quest'anno|(?:anni|mesi|settimane|giorni) (?:dopo|prima|fa)
вчера|сегодня|(?:прошл|предыдущ|нынешн|эт)* (?:год|квартал|месяц|недел)*|(?:лет|года|месяц|недел|дн)* (?:назад|спустя|ранее|позже)|годом (?:ранее|позже)
~ 昨日|昨天|今天|本日|去年|昨年|今年|来年|明年|前年|上年|次年|翌|同年|同期|年前|年后|年後|天后|日后|日後|月后|か月後|أمس|الماضي|المقبل|التالي|السابق
`);

/** The two directions. */
export const DIRECTIONS: readonly [WordList, WordList] = [
  new WordList(String.raw`
ris(?:e|es|en|ing)|rose|increas*|grow*|grew|gain*|climb*|surg*|jump*|soar*|higher|expand*
improv*|doubl*|tripl*|longer|greater|mayor(?:es)?|upward|strengthen*|accelerat*|widen*|up(?= \d| by)|(?<=% )(?:mas|plus|piu)|rais(?:e|ed|es)|above|exceed*|better|faster|larger|more|mehr
subi(?:u|ram|r|ndo)|sobe|sobem|cresc*|melhor*|alarg*|ultrapass*|verlanger*|beschleunig*|erweiter*|anheb*|angehoben|hob|ausgebaut|ausbau*|gestiegen|stieg|stiegen|steig*|anstieg*|zunahme|zugenommen|erhoh*|wuchs*|wachs*|gewachsen|hoher*|langer|verbesser*|kletter*|zugelegt|uberschr*|ubertr*|schneller|besser|verdoppel*
acceler*|allong*|prolong*|elargi*|bondi*|plus (?:grand|eleve|important)*|en plus|de plus|augment*|hausse|progress*|grimp*|croiss*|accru*|superieur*|amelior*|doubl*|depass*|releve*
aceler*|alarg*|ampli[ao]*|de mas|aument*|subi(?:do|o|eron)|sube|suben|crec*|increment*|alza|mejor*|supero|supera|superaron
вырос*|выраст*|раст(?:ет|ут)|росл[аои]|рост|роста|ростом|увелич*|повы[сш]*|превы[сш]*|выше|расшир*|ускор*|улучш*|подорожа*
acceler*|allung*|in piu|crescit*|cresc*|cresciut*|salit*|salgono|superior*|maggiore|rialz*|miglior*|incremen*
~ 增加|增长|增長|上升|上涨|提高|增至|升至|攀升|扩大|高于|超出|多于|加快|加速|提升|延长|增え|上昇|上回|増大|増(?!税)|増加|伸び|高ま|増収|増益|延び|拡大|长于|引き上げ|高い|高く|高かっ|長く|延長|多い|多く|(?<![؀-ۿ])[وف]?(?:ارتفعت|ارتفع(?![؀-ۿ])|[يت]رتفع|زاد|ازداد|نمت|تضاعف|[يت]زداد)
`),
  new WordList(`
fall*|fell|declin*|decreas*|drop*|lower*|reduc*|shr[aiu]nk*|cut|cuts|cutting|fewer|less|shorter|worse*|halv*|slump*
plung*|slip*|slid|slides?|dip(?:s|ped)?|zuruck|tumbl*|downward|weaken*|(?<=% )(?:menos|moins|meno)|slow*|narrow*|down|below|smaller|weniger|moins
gefallen|fiel|fielen|fallt|sank|sanken|sink*|gesunken|ruckgang*|abnahme|abgenommen|verringer*|reduzier*|niedriger*|kurzer|schrumpf*|geschrumpft|gesenkt|senk*|zuruckg*|unterschr*|langsamer|schlechter|halbier*|verkurz*|verlangsam*|eingebrochen|abgebaut|abbau*|nachgelassen|verschlechter*
cai(?:u|ram|r|ndo)?|caem|queda|reduz*|encolh*|pior*|moindre|raccourci*|effondr*|flechi*|moins (?:grand|eleve|important)*|en moins|de moins|baiss*|diminu*|recul*|chut*|redui*|inferieur*|repli*|abaiss*|ralenti*
ralentiz*|acort*|recort*|desplom*|rebaj*|de menos|disminu*|baj[aoe]|bajaron|bajar|cay*|cae|caen|caid*|descend*|reduc*|reduj*|menor|descens*|retroced*|empeor*
сократ*|сокращ*|сниз*|сниж*|уменьш*|упал*|пада[ею]т|падени[еюя]|ниже|ухудш*|замедл*|подешев*
rallent*|accorci*|taglia*|croll*|in meno|diminui*|cal(?:o|a|ano|at*|arono|ando)|scend*|sces[aoie]|ridott*|riduz*|riduc*|inferior*|minore|ribass*|peggior*
~ 减少|減少|下降|下跌|降低|降至|跌至|缩小|下滑|低于|少于|放缓|变慢|缩短|减至|减慢|減っ|減る|低下|下落|減(?!税)|下回|縮小|短く|落ち|減収|減益|縮ま|引き下げ|低い|低く|低かっ|短縮|少ない|少なく|(?<![؀-ۿ])[وف]?(?:انخفض|تراجع|[يت]تراجع|[يت]نخفض|هبط|تقلص|قلص)
`),
];

/** Words that generalize to all; before `day` or `year` they only say how often. */
export const UNIVERSAL = new WordList(String.raw`
whole|entire(?:ly|ty)?|every(?! (?:day|week|month|year|time|hour|\p{L}+ (?:days|years|months)))|all(?!'| \d)|always|never|alle(?! \d)|samtliche*|immer(?! noch)|einstimmig|gesamt(?:e[nrms]?)|ganze[nrms]?
tou(?:s|te|tes)(?! les (?:jours|ans|mois|heures|semaines|annees|\p{L}+ (?:ans|mois|jours|heures|semaines|minutes)))|tout(?= (?:le|l'))|entier*|toujours|todo(?= el)|enter[oa]s?|tod(?:os|as?)(?! l[oa]s (?:dias|anos|meses|semanas|horas|noches))|siempre|unanim*|tutt(?:i|e|a)(?! i giorni| gli anni| le settimane| le ore)|sempre
весь|вся|всю|всей|все(?! (?:еще|равно|же|больше|чаще))|всех|кажд(?:ый|ая|ое|ые|ого|ой)
~ 全部|所有|全线|全程|全体|(?<![؀-ۿ])[وبل]?(?:كل|جميع|كافة)(?![؀-ۿ])|كله(?:ا|م)?(?![؀-ۿ])|全員|全額|一致(?!する)|すべての|全ての
`);

/** Words that exclude each other in the same place of a copied sentence, a group each: `north` for `south`. */
export const EXCLUSIVE = wordGroups(`
north*|nord*|nort*|settentrional*|septentrional*|север* ~ 北
south*|sud|sud[oeu]*|sudlich*|sur|sure[nos]*|meridional*|юг|юж*|юго* ~ 南
east*|ost|osten*|ostlich*|est|este|orient*|восток*|восточ* ~ 东|東
west*|ouest|oeste|ovest|occident*|запад* ~ 西

before|prior|until|vor|bevor|bis|avant|antes|prima|до|перед|прежде ~ 之前|以前|前
after|since|following|nach|nachdem|seit|apres|depuis|despues|tras|dopo|после ~ 之后|以后|以後|后|後

first|erste*|premi*|primer*|primo|перв* ~ 第一|第1|首
second|zweite*|deuxi*|segund[oa]|secondo|втор* ~ 第二|第2
third|dritte*|troisi*|tercer*|terz[oa]|трет* ~ 第三|第3
fourth|vierte*|quatri*|cuart[oa]|quart[oa]|четверт* ~ 第四|第4
fifth|funfte*|cinqui*|quint[oa]|пят* ~ 第五|第5
last|final|letzte*|dernier*|ultim[oa]|последн* ~ 最后|最後

larg*|big*|great*|gross*|größ*|grand*|mayor*|maggior*|крупн*|больш*|high*|hoch*|hoh*|haut*|alt[oaie]s?|выс*|long*|lang*|lung*|длин*|up|upper|rose|risen|above|upward* ~ 大|高|长|長|上
small*|little|klein*|petit*|menor*|minor*|мельч*|мал*|low*|niedrig*|tief*|bas|bass*|baj*|низ*|short*|kurz*|court*|cort*|корот*|down|fell|fallen|below|downward* ~ 小|低|短|下

more|mehr|plus|mas|piu|более|больше|at least|mindestens|au moins|al menos|almeno|minimum*|over|uber ~ 以上|超过|超過|至少|最少|多
less|fewer|weniger|moins|menos|meno|менее|меньше|at most|hochstens|au plus|como maximo|al massimo|maximum*|under|unter ~ 以下|不到|未满|未満|至多|最多|少

most|many|majority|mehrheit|meist*|viele*|la plupart|mayoria|muchos|maggioranza|molti|большинств*|много|многие ~ 大多数|多数
few|minority|some|minderheit|wenige|einige|minorite|quelques|minoria|pocos|algunos|minoranza|pochi|alcuni|меньшинств*|мало|немногие ~ 少数
all|every|alle|jede*|tous|toutes|todos|todas|tutti|tutte|все ~ 全部|所有|すべて
none|no|kein*|aucun*|ningun*|nessun*

men|man|male*|boys?|father*|manner*|mannlich*|hommes?|hombres?|uomini|uomo|мужчин* ~ 男
women|woman|female*|girls?|mother*|frauen|frau|weiblich*|femmes?|mujer*|donn[ae]|женщин* ~ 女

on(?= by default)|(?<=(?:turned|switched) )on|activ*|enabl*|aktiv*|attiv*
off(?= by default)|(?<=(?:turned|switched) )off|deactiv*|disabl*|deaktiv*|desactiv*|disattiv*

w(?:in|on|ins|inning)|gain(?:s|ed|ing)?|gewann*|gewonnen|gewinnt|gewinnen|gagn*|gan[ao]*|vinc*|vinse*|vint[oa]* ~ 赢|胜|勝
los(?:t|e|es|ing)|verliert|verlieren|verlor*|perd*|perse* ~ 输|败|敗|負

doubl*|twice|twofold|verdoppel*|dupli[ck]*|raddoppi*|dobr(?:ou|aram|ar) ~ 翻番|倍増
tripl*|trebl*|threefold|verdreifach* ~ 三倍
quadrupl*|fourfold|vervierfach*|cuadrupl* ~ 四倍
halv*|halbier*|dimezz* ~ 减半|半減

hours?|hourly|stund*|heures?|horas?|ore|ora ~ 小时|時間
days?|daily|tage?n?|taglich*|jours?|quotidien*|dias?|diari*|giorn* ~ 天|日
weeks?|weekly|wochen?|wochentlich*|semaines?|hebdomadaire*|semanas?|semanal*|settiman* ~ 周|週
months?|monthly|monate?n?|monatlich*|mois|mensuel*|mes|meses|mensual*|mes[ei]|mensil* ~ 月
years?|yearly|annual*|jahre?n?|jahrlich*|ans?|annees?|annuel*|anos?|anual*|ann[oi] ~ 年

monday|montags?|lundi|lunes|lunedi|segunda-feira|понедельник* ~ 周一|星期一|月曜
tuesday|dienstags?|mardi|martes|martedi|terca-feira|вторник* ~ 周二|星期二|火曜
wednesday|mittwochs?|mercredi|miercoles|mercoledi|quarta-feira|сред[уы] ~ 周三|星期三|水曜
thursday|donnerstags?|jeudi|jueves|giovedi|quinta-feira|четверг* ~ 周四|星期四|木曜
friday|freitags?|vendredi|viernes|venerdi|sexta-feira|пятниц* ~ 周五|星期五|金曜
saturday|samstags?|sonnabends?|samedi|sabado|sabato|суббот* ~ 周六|星期六|土曜
sunday|sonntags?|dimanche|domingo|domenica|воскресень* ~ 周日|星期日|日曜
`);

/** Further such words, only for copies, where everything else is the same: elsewhere both may be true. */
export const OPPOSITES = wordGroups(`
open*|reopen*|eroffn*|geoffn*|offnet*|ouvert*|ouvr*|abri*|abiert*|apert*|apr[ei]*|откры* ~ 开放|开业|開放|開業
clos*|shut*|geschloss*|schloss*|schliess*|ferm*|cerr*|chius*|chiud*|закры* ~ 关闭|關閉|閉鎖

bought|buy*|purchas*|acquir*|kauf*|gekauft*|erw[ao]rb*|achet*|compr*|acquist*|купи* ~ 购买|收购|購入
sold|sell*|sale*|verkauf*|vend*|прода* ~ 出售|卖出|売却

import*|einfuhr*|eingefuhrt*|импорт* ~ 进口|輸入
export*|ausfuhr*|ausgefuhrt*|экспорт* ~ 出口|輸出

die[ds]?|dead|killed|starb*|gestorben|getotet*|mort*|muri*|погиб* ~ 死亡|死んだ
injured|wounded|hurt|verletzt*|bless*|herid*|ferit*|ранен* ~ 受伤|負傷

am
pm

left
right

to|auf
by|um
`);

/** Words before a cause. */
export const CAUSE_BEHIND = new WordList(String.raw`
because(?: of)?|due(?: mainly| mostly| largely| partly)? to(?! be(?!\p{L}))|owing to|thanks to|(?:caused|triggered|driven|prompted|explained) by|as a result of|result(?:s|ed)? (?:of|from)|stem(?:s|med) from|blam(?:es|ed|e|ing) .{0,40}on|attribut\p{L}+ .{0,60}to|(?:reason|cause)\p{L}* .{0,30}(?:was|were|is|are)
weil|wegen|aufgrund|auf grund|infolge|dank|ursach\p{L}* .{0,30}(?:war|waren|ist|sind)|(?:liegt|lag|liege) an|zuruckzufuhren auf|begrund\p{L}* .{0,30}mit|erklar\p{L}* .{0,30}mit|fuhr\p{L}* .{0,60}auf
parce qu[e']|car|a cause d[eu']\p{L}*|en raison(?: surtout| notamment)? d[eu']\p{L}*|grace aux?|(?:provoque|cause|explique)\p{L}* par|due?s? (?:surtout |notamment )?aux?|tient aux?|(?:imput|attribu)\p{L}* .{0,60}a\p{L}*|puisque|du fait d[eu']\p{L}*
porque|debid[oa]s? a\p{L}*|a causa de\p{L}*|por culpa de\p{L}*|gracias a\p{L}*|por (?:el|las?|los|una?)|deb(?:e|en|io|ieron)(?: sobre todo)? a\p{L}*|(?:caus|provoc)ad\p{L}* por|atribuy\p{L}* .{0,60}a\p{L}*|a raiz de\p{L}*
perche|a causa d\p{L}+|grazie a\p{L}*|dovut\p{L}+ a\p{L}*|(?:caus|provoc)at\p{L}+ da\p{L}*|per via d\p{L}+|attribui\p{L}* .{0,60}a\p{L}*
por causa d\p{L}+|devid[oa]s? a\p{L}*|gracas a\p{L}*|em razao d\p{L}+
потому что|из-за|благодаря|вследствие|по причине
~ بسبب|نتيجة|جراء|بفضل|原因は|理由は|因为|由于|原因是|归因于|归咎于|源于`);

/** Words behind a cause. */
export const CAUSE_BEFORE = new WordList(String.raw`
led to|leads? to|leading to|caused|causes|causing|result(?:ed|s|ing) in|therefore|so that|triggered|prompted|forced|explain(?:s|ed)|account(?:s|ed) for|responsible for|(?:was|were|is|are) the (?:main |principal |sole )?(?:reason|cause)\p{L}* (?:for|of|why)|to blame for
fuhr\p{L}* zu\p{L}*|deshalb|daher|deswegen|verursacht\p{L}*|loste\p{L}* .{0,40}aus
entrain\p{L}*|provoqu\p{L}*|a cause|ont cause|expliqu(?:e|ent|ait)|a conduit a\p{L}*
provoc(?:o|a|aron)|caus(?:o|a|aron)|llev(?:o|aron) a\p{L}*|explica\p{L}*|motiv(?:o|aron)
ha provocato|hanno provocato|ha causato|provoca|causa|ha portato a\p{L}*|spiega\p{L}*
~ 导致|因此|所以|使得|引发|ため(?![にの])|により|によって|せいで|おかげで|つながっ|引き起こ|を理由に|が原因|が要因|を受けて`);

/** Verbs of saying and thinking. */
export const SPEECH = new WordList(String.raw`
sa(?:id|ys?)|stat(?:es|ed)|claim(?:s|ed)|argu(?:es|ed)|believ(?:es|ed)|thinks?|thought|warn(?:s|ed)|call(?:s|ed)|den(?:y|ied|ies)|expects?|expected|suspects?|suspected|explain(?:s|ed)|critici[sz]\p{L}+|describ(?:es?|ed)|told|wrote|writes|point(?:s|ed) (?:to|out)|attribut(?:es|ed)|blam(?:es|ed)|estimat(?:es|ed)|hop(?:es|ed)|confirm(?:s|ed)|insist(?:s|ed)|contend(?:s|ed)|add(?:s|ed)|doubt(?:s|ed)|complain(?:s|ed)|puts? the
sag(?:t|te|ten|en)|erklar(?:t|te|ten|en)|behaupte\p{L}*|meint(?:e|en)?|warn(?:t|te|ten|en)|kritisier\p{L}*|rechnet(?:e|en)?|erwart\p{L}*|bezeichne\p{L}*|beton\p{L}*|vermut\p{L}*|bezweif\p{L}*|glaub\p{L}*|sieht|sah|schreib\p{L}*|schrieb\p{L}*|schatz\p{L}*|nannte|nennt|forder\p{L}*|bekla\p{L}*|fuhrt
di(?:t|sent|sait)|declar\p{L}*|affirm\p{L}*|estim(?:e|ent|ait)|jug(?:e|ent|eait)|explique\p{L}*|annonc(?:e|ent|ait|a)|assur(?:e|ent)|denonc\p{L}*|reproch\p{L}*|attribue\p{L}*|impute\p{L}*|conteste\p{L}*|craint|craignent|regrette\p{L}*|soulign\p{L}*|rappell\p{L}*|pens(?:e|ent)|croi(?:t|ent)|considere\p{L}*
di(?:ce|cen|jo|jeron)|afirm\p{L}*|sostien\p{L}*|asegur\p{L}*|anunci\p{L}*|explic\p{L}*|reconoc\p{L}*|critic\p{L}*|denunci\p{L}*|atribuy\p{L}*|cree|creen|opin\p{L}*|consider\p{L}*|senal\p{L}*|calific\p{L}*|niega|nego|advi\p{L}*
dic(?:e|ono)|ha detto|disse|afferm\p{L}*|sosteng\p{L}*|dichiar\p{L}*|annunci\p{L}*|spieg\p{L}*|ritien\p{L}*|riteng\p{L}*|attribui\p{L}*|sottoline\p{L}*
diz|dizem|defend\p{L}*|acredit\p{L}*
сказал\p{L}*|заявил\p{L}*|говор\p{L}*|считает|считают|объясня\p{L}*|утвержда\p{L}*|отметил\p{L}*|сообщил\p{L}*|пола\p{L}*
~ 表示|认为|称|指出|说|宣布|预计|透露|强调|批评|述べ|指摘|話し|話す|語っ|語る|とみる|としている|訴え|主張|発表|期待を示|考えを示|説明|قال|أكد|يرى|ترى|أضاف|أوضح|말했|밝혔|주장`);
