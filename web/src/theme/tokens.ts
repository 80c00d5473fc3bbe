/** Every colour of the console, once. The CSS variables in tokens.css carry the same values (a test compares them). */
export const light = {
  canvas: '#FFFFFF', side: '#F6F7F7', raised: '#FFFFFF', fill1: '#F6F7F7', fill2: '#EEF0F0', fill3: '#E2E6E7', line: '#E5E8E9', line2: '#D3D9DB',
  text: '#15191C', text2: '#4F5A60', text3: '#606B71', text4: '#A3ADB1',
  accent: '#0B6B75', accentHover: '#095A63', accentSoft: '#E3F1F2', onAccent: '#FFFFFF', focus: '#0B6B7540',
  green: '#17734A', greenSoft: '#E6F4EC', greenFill: '#35A56E', amber: '#8A5A00', amberSoft: '#FCF1D9', amberFill: '#E0A52E',
  blue: '#1D5FBF', blueSoft: '#E8F0FC', blueFill: '#4A8CF0', violet: '#6A45B8', violetSoft: '#F0EBFB', violetFill: '#8D6BD8',
  red: '#B42323', redSoft: '#FCEAEA', redFill: '#D64545', grey: '#5A656B', greySoft: '#EEF0F0',
  category1: '#4891FE', category2: '#D87E00', category3: '#6C1671', category4: '#015200', category5: '#936D57', category6: '#2F79AB', category7: '#91345A', category8: '#8C979F',
  shadow: '0 0 0 1px #15191C0F, 0 2px 4px #15191C0A, 0 12px 32px #15191C1F', segmentOn: '#FFFFFF', spotlight: '#15191C',
};

export type Tokens = typeof light;

export const dark: Tokens = {
  canvas: '#0F1214', side: '#0B0E0F', raised: '#191E21', fill1: '#14181A', fill2: '#1C2124', fill3: '#2A3135', line: '#22282B', line2: '#343C40',
  text: '#E8ECED', text2: '#A3AEB3', text3: '#859197', text4: '#5A656A',
  accent: '#4FBEC8', accentHover: '#6FCDD6', accentSoft: '#12292C', onAccent: '#0B1214', focus: '#4FBEC859',
  green: '#4CC38A', greenSoft: '#12291F', greenFill: '#2F9563', amber: '#E2B04A', amberSoft: '#2D2412', amberFill: '#B98B2F',
  blue: '#7FB0F5', blueSoft: '#15243A', blueFill: '#5A8FE0', violet: '#B59AF0', violetSoft: '#231C38', violetFill: '#8569C9',
  red: '#F28080', redSoft: '#361A1B', redFill: '#C95050', grey: '#98A4A9', greySoft: '#1C2124',
  category1: '#6091FF', category2: '#E78C10', category3: '#92469E', category4: '#2E7732', category5: '#F7C69D', category6: '#A9D5FB', category7: '#B96A88', category8: '#A5ACB2',
  shadow: '0 0 0 1px #FFFFFF14, 0 2px 6px #00000066, 0 16px 40px #000000A6', segmentOn: '#2A3135', spotlight: '#2A3135',
};

/** The name of a token as a CSS variable: accentSoft is --c-accent-soft, fill1 is --c-fill-1. */
export function cssVariable(token: string): string {
  return `--c-${token.replace(/([A-Z]|\d)/g, (part) => `-${part.toLowerCase()}`)}`;
}
