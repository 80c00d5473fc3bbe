import { theme as antd, type ThemeConfig } from 'antd';
import type { Language } from '../i18n/languages';
import { dark, light, type Tokens } from './tokens';

export type Mode = 'light' | 'dark';

const sans = '-apple-system, BlinkMacSystemFont, "Segoe UI", Inter, Roboto, "Noto Sans"';
const cjk: Record<Language, string> = {
  en: '"Noto Sans CJK TC"',
  'zh-TW': '"PingFang TC", "Microsoft JhengHei", "Noto Sans CJK TC"',
  'zh-CN': '"PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC"',
};
const mono = 'ui-monospace, SFMono-Regular, "JetBrains Mono", Menlo, Consolas, "Noto Sans Mono", monospace';

export const fontFamily = (language: Language): string => `${sans}, ${cjk[language]}, sans-serif`;

/** Ant Design's theme. Seed colours pass through its algorithm (the dark one dulls them), so each is pinned after it. */
export function corralTheme(mode: Mode, language: Language, phone: boolean, still: boolean): ThemeConfig {
  const tokens = mode === 'light' ? light : dark;
  const colors = colorTokens(tokens);
  const base = mode === 'light' ? antd.defaultAlgorithm : antd.darkAlgorithm;
  return {
    algorithm: [base, (_seed, map) => ({ ...(map as NonNullable<typeof map>), ...colors })],
    token: {
      ...colors,
      controlOutlineWidth: 3,
      fontFamily: fontFamily(language),
      fontFamilyCode: mono,
      fontSize: 13,
      fontSizeSM: 12,
      fontSizeLG: 15,
      fontSizeHeading3: 20,
      fontSizeHeading4: 15,
      lineHeight: 20 / 13,
      borderRadius: 6,
      borderRadiusSM: 4,
      borderRadiusLG: 10,
      borderRadiusXS: 3,
      controlHeight: phone ? 40 : 30,
      controlHeightSM: phone ? 40 : 26,
      controlHeightLG: 40,
      boxShadow: tokens.shadow,
      boxShadowSecondary: tokens.shadow,
      boxShadowTertiary: 'none',
      motion: !still,
      motionDurationFast: '80ms',
      motionDurationMid: '120ms',
      motionDurationSlow: '180ms',
      wireframe: false,
    },
    components: componentTokens(tokens, language),
  };
}

function colorTokens(c: Tokens) {
  return {
    colorPrimary: c.accent,
    colorPrimaryHover: c.accentHover,
    colorPrimaryActive: c.accentHover,
    colorPrimaryBg: c.accentSoft,
    colorLink: c.accent,
    colorLinkHover: c.accentHover,
    colorSuccess: c.green,
    colorSuccessBg: c.greenSoft,
    colorWarning: c.amber,
    colorWarningBg: c.amberSoft,
    colorInfo: c.blue,
    colorInfoBg: c.blueSoft,
    colorError: c.red,
    colorErrorBg: c.redSoft,
    colorText: c.text,
    colorTextSecondary: c.text2,
    colorTextTertiary: c.text3,
    colorTextQuaternary: c.text4,
    colorTextPlaceholder: c.text3,
    colorTextDescription: c.text3,
    colorBgBase: c.canvas,
    colorBgLayout: c.canvas,
    colorBgContainer: c.canvas,
    colorBgElevated: c.raised,
    colorFillQuaternary: c.fill1,
    colorFillTertiary: c.fill2,
    colorFillSecondary: c.fill3,
    colorBorder: c.line2,
    colorBorderSecondary: c.line,
    colorSplit: c.line,
    controlOutline: c.focus,
    controlItemBgActive: c.fill2,
    controlItemBgHover: c.fill1,
    colorSuccessBorder: c.greenSoft,
    colorWarningBorder: c.amberSoft,
    colorInfoBorder: c.blueSoft,
    colorErrorBorder: c.redSoft,
    colorBorderDisabled: c.line2,
    colorBgContainerDisabled: c.fill2,
    colorTextDisabled: c.text4,
    colorBgMask: '#0B0E0F59',
    colorErrorText: c.red,
    colorErrorHover: c.red,
    colorErrorActive: c.red,
    colorErrorBorderHover: c.red,
  };
}

function componentTokens(c: Tokens, language: Language): ThemeConfig['components'] {
  // Noto Sans CJK has no medium weight: 500 would fall back to regular.
  const medium = language === 'en' ? 500 : 600;
  return {
    Button: {
      primaryColor: c.onAccent,
      solidTextColor: c.onAccent,
      fontWeight: medium,
      paddingInline: 12,
      paddingInlineSM: 9,
      contentFontSizeSM: 12,
      primaryShadow: 'none',
      defaultShadow: 'none',
      dangerShadow: 'none',
      defaultHoverColor: c.text,
      defaultHoverBorderColor: c.text3,
      defaultActiveColor: c.text,
      defaultActiveBorderColor: c.text3,
      textTextColor: c.text2,
    },
    Table: {
      headerBg: 'transparent',
      headerSortActiveBg: 'transparent',
      headerSortHoverBg: 'transparent',
      bodySortBg: 'transparent',
      headerColor: c.text3,
      headerSplitColor: 'transparent',
      headerBorderRadius: 0,
      cellPaddingBlock: 7,
      cellPaddingInline: 12,
      cellPaddingBlockSM: 5,
      borderColor: c.line,
      rowHoverBg: c.fill1,
      rowSelectedBg: c.fill1,
      rowSelectedHoverBg: c.fill2,
    },
    Tabs: {
      itemColor: c.text2,
      itemHoverColor: c.text,
      itemSelectedColor: c.text,
      itemActiveColor: c.text,
      inkBarColor: c.text,
      horizontalItemGutter: 22,
      horizontalItemPadding: '10px 0',
      titleFontSize: 13,
    },
    Segmented: {
      trackBg: c.fill2,
      itemColor: c.text2,
      itemSelectedBg: c.segmentOn,
      itemSelectedColor: c.text,
      trackPadding: 2,
    },
    Tag: { defaultBg: c.fill2, defaultColor: c.text2 },
    Select: { optionSelectedBg: c.fill2, optionSelectedFontWeight: medium },
    Progress: { defaultColor: c.text2, remainingColor: c.fill3 },
    Tooltip: { colorBgSpotlight: c.spotlight },
    Form: { labelColor: c.text2, itemMarginBottom: 16, verticalLabelPadding: '0 0 4px', labelFontSize: 12 },
    Modal: { titleFontSize: 15 },
  };
}
