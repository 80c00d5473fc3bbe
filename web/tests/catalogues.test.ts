import { describe, expect, test } from 'vitest';
import en from '../src/i18n/en.json';
import glossary from '../src/i18n/glossary.json';
import zhCN from '../src/i18n/zh-CN.json';
import zhTW from '../src/i18n/zh-TW.json';

type Tree = { [key: string]: string | Tree };
type Chinese = 'zh-TW' | 'zh-CN';

function flatten(tree: Tree, prefix = ''): Map<string, string> {
  const all = new Map<string, string>();
  for (const [key, value] of Object.entries(tree)) {
    if (typeof value === 'string') all.set(prefix + key, value);
    else for (const [path, text] of flatten(value, `${prefix}${key}.`)) all.set(path, text);
  }
  return all;
}

const catalogues = { en: flatten(en), 'zh-TW': flatten(zhTW), 'zh-CN': flatten(zhCN) };
const chinese: Chinese[] = ['zh-TW', 'zh-CN'];

/** English counts one and other, Chinese only other: the same message all the same. */
const message = (key: string): string => key.replace(/_(one|other)$/, '');
const messages = (catalogue: Map<string, string>): string[] => [...new Set([...catalogue.keys()].map(message))].sort();
const placeholders = (text: string): string[] => [...new Set(text.match(/\{\{\w+\}\}/g) ?? [])].sort();

describe('the three catalogues', () => {
  test.each(chinese)('%s has the messages of English, no more and no fewer', (language) => {
    expect(messages(catalogues[language])).toEqual(messages(catalogues.en));
  });

  test.each(Object.entries(catalogues))('%s has no empty message', (_, catalogue) => {
    expect([...catalogue].filter(([, text]) => text.trim() === '')).toEqual([]);
  });

  test('every counted message has a form for one and for many in English, and for many in Chinese', () => {
    for (const key of catalogues.en.keys())
      if (key.endsWith('_one')) expect(catalogues.en.has(key.replace(/_one$/, '_other')), key).toBe(true);
    for (const language of chinese)
      for (const key of catalogues[language].keys()) expect(key.endsWith('_one'), `${language} ${key}`).toBe(false);
  });

  test.each(chinese)('%s fills the same places as English', (language) => {
    for (const [key, text] of catalogues[language]) {
      const english = catalogues.en.get(key);
      expect(english, key).toBeDefined();
      expect(placeholders(text), key).toEqual(placeholders(english ?? ''));
    }
  });

  test('English keeps to the words of the product', () => {
    const banned = /\b(jobs?|instances?|pods?|oops|please|successfully|submit|ok|confirm)\b|!/i;
    expect([...catalogues.en].filter(([, text]) => banned.test(text))).toEqual([]);
  });

  test.each(chinese)('%s puts a space between Han and Latin or digits, and uses full-width punctuation', (language) => {
    const tight = /\p{Script=Han}[A-Za-z0-9]|[A-Za-z0-9]\p{Script=Han}/u;
    const half = /\p{Script=Han}[,;:?!.](?!\w)/u;
    const bare = [...catalogues[language]].map(([key, text]) => [key, text.replace(/\{\{\w+\}\}/g, '')] as const);
    expect(bare.filter(([, text]) => tight.test(text) || half.test(text))).toEqual([]);
  });
});

describe('the glossary', () => {
  const words = Object.entries(glossary.words) as [
    string,
    { en: string } & Record<Chinese, { word: string; not: string[] }>,
  ][];

  test.each(chinese)('no word of %s is among the renderings it forbids', (language) => {
    expect(
      words.filter(([, entry]) => entry[language].not.some((other) => entry[language].word.includes(other))),
    ).toEqual([]);
  });

  test.each(chinese)('the catalogue of %s uses no forbidden rendering', (language) => {
    const found = words.flatMap(([name, entry]) =>
      entry[language].not.flatMap((other) =>
        [...catalogues[language]]
          .filter(([, text]) => text.includes(other))
          .map(([key]) => `${key}: ${other}, say ${entry[language].word} (${name})`),
      ),
    );
    expect(found).toEqual([]);
  });

  test('English has none of the phrases that only a translation would have', () => {
    const found = Object.entries(glossary.english).flatMap(([phrase, instead]) =>
      [...catalogues.en]
        .filter(([, text]) => new RegExp(`\\b${phrase}\\b`, 'i').test(text))
        .map(([key, text]) => `${key}: ${text} (say ${instead})`),
    );
    expect(found).toEqual([]);
  });

  test('the menu says what the glossary says', () => {
    const named = new Map(words.map(([name, entry]) => [name, entry]));
    for (const key of Object.keys(en.menu) as (keyof typeof en.menu)[]) {
      const entry = named.get(key);
      if (!entry) continue;
      expect(en.menu[key].toLowerCase(), key).toBe(entry.en.toLowerCase());
      expect(zhTW.menu[key], key).toBe(entry['zh-TW'].word);
      expect(zhCN.menu[key], key).toBe(entry['zh-CN'].word);
    }
  });

  test('Taiwan writes no simplified character and the mainland no traditional one', () => {
    expect(
      [...catalogues['zh-TW']].filter(([, text]) => [...simplifiedOnly].some((letter) => text.includes(letter))),
    ).toEqual([]);
    expect(
      [...catalogues['zh-CN']].filter(([, text]) => [...traditionalOnly].some((letter) => text.includes(letter))),
    ).toEqual([]);
  });
});

// Pairs in the same order: what one side writes, the other never does.
const simplifiedOnly =
  '个们这来时会对发经没过还现实样长问题开关门间见观规视觉说话语词认证让记计设许论该请读调谁谢课变边达运进远连选适递邮录显页项顺须预领频颜类风飞马验鱼鸟龙点热烟爱电画为无旧书买卖卫厂历厅压严丧丰临丽举义乐乔习乡亚产亲亿仅从仓仪价众优伙传伤伦伪体侠侧侦' +
  '储儿党兰关兴养兽内冈册写军农冲决况净减凤凭凯击创删别刘则刚剂剑剧劝办务动励劳势区医华协单卢卫却厨县参双号叹启员响园围国图圆团圣场块坚坏坛坝坟坠垒声壳处备复够头夹夺奋奖妇妈娱婴孙学宁宝实审宪宫宽宾对导尽层属岁岂岗岛岭峡币帅师帐帮带帧广庆库应庙废弃张弹强归当彻径忆忧怀态总恋恶悬惊惧惨惯愿执扩扫扬扰抚抛护报拟拥择挂挡挤挥损捡换据掷摄摆摇敌数断无旧显晋晓术机杀杂权条来杨极构枪柜标树样桥档检楼欢欧残毁气汇汉汤沟没泪泽洁浅测济浏浑浓涛润涨渐温湾湿满滚滤滥滨灭灯灵灾炉点炼烂烦热状犹狱独猎环现玛电疗疯监盖盘矿码砖确础种积称稳穷窃竞笔筑简签类粮紧纠红约级纪纯纲纳纵纷纸纹线练组细织终绍经结绕绘给络绝统继绩续维综绿缓编缘缩网罗罚罢职联聪肃脏脑脚脱艺节苏药获营虑虚虽蚀补装见观规视览觉触订计认讨训议记讲许论设访证评识诉诊译试话询详语误说请诸课谁调谈谊谢谱贝负贡财责败账货质贩购贯贴贵贷费资赋赏赔赖赛赞赶趋跃践踪车轨转轮软轻载较辅辆辑输辖达迁过运还这进远违连迟适选递逻遗邓邮郑释鉴针钟钢钥钱链错锁键镜长门闭问间闲闻队阳阴阵阶际陆陈险随隐难雾静韩页项顺须顾顿预领频题额风飞饭饮饰馆马驱驶验骗骤鱼鲜鸡麦黄齐齿龙龟';
const traditionalOnly =
  '個們這來時會對發經沒過還現實樣長問題開關門間見觀規視覺說話語詞認證讓記計設許論該請讀調誰謝課變邊達運進遠連選適遞郵錄顯頁項順須預領頻顏類風飛馬驗魚鳥龍點熱煙愛電畫為無舊書買賣衛廠歷廳壓嚴喪豐臨麗舉義樂喬習鄉亞產親億僅從倉儀價眾優夥傳傷倫偽體' +
  '儲兒黨蘭興養獸內岡冊寫軍農衝決況淨減鳳憑凱擊創刪別劉則剛劑劍劇勸辦務動勵勞勢區醫華協單盧卻廚縣參雙葉號嘆啟員響園圍國圖圓團聖場塊堅壞壇壩墳墜壘聲殼處備復夠頭夾奪奮獎婦媽娛嬰孫學寧寶審憲宮寬賓導盡層屬歲豈崗島嶺峽幣帥師帳幫帶幀廣慶庫應廟廢棄張彈強歸當徹徑憶憂懷態總戀惡懸驚懼慘慣願執擴掃揚擾撫拋護報擬擁擇掛擋擠揮損撿換據擲攝擺搖敵數斷晉曉術機殺雜權條楊極構槍櫃標樹橋檔檢樓歡歐殘毀氣匯漢湯溝淚澤潔淺測濟瀏渾濃濤潤漲漸溫灣濕滿滾濾濫濱滅燈靈災爐煉爛煩狀猶獄獨獵環瑪療瘋監蓋盤礦碼磚確礎種積稱穩窮竊競筆築簡簽糧緊糾紅約級紀純綱納縱紛紙紋線練組細織終紹結繞繪給絡絕統繼績續維綜綠緩編緣縮網羅罰罷職聯聰肅髒腦腳脫藝節蘇藥獲營慮虛雖蝕補裝覽觸訂討訓議講訪評識訴診譯試詢詳誤諸談誼譜貝負貢財責敗賬貨質販購貫貼貴貸費資賦賞賠賴賽贊趕趨躍踐蹤車軌轉輪軟輕載較輔輛輯輸轄遷違遲邏遺鄧鄭釋鑒針鐘鋼鑰錢鏈錯鎖鍵鏡閉閒聞隊陽陰陣階際陸陳險隨隱難霧靜韓顧頓額飯飲飾館驅駛騙驟鮮雞麥黃齊齒龜';
