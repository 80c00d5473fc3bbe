/**
 * Characters that are not seen but change what is read: control characters, marks that turn the direction of
 * text around, and those without any width. What joins emoji and letters of some scripts stays.
 */
const hidden =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udc7f]/g;

/** Text of others as it may stand on a page: what hides in it is spelled out. */
export function visible(text: string): string {
  return text.replace(hidden, (found) => `\\u${(found.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`);
}
