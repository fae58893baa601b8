// Texts whose contrast to their ground is below what WCAG AA asks for: "text: contrast".
const channel = (value) => {
  const part = value / 255;
  return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
};
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const colour = (text) => text.match(/[\d.]+/g).map(Number);
const isClear = (it) => it.length > 3 && it[3] === 0;
const ground = (element) => {
  for (let at = element; at; at = at.parentElement) {
    const found = colour(getComputedStyle(at).backgroundColor);
    if (!isClear(found)) return found;
  }
  return [255, 255, 255];
};
const found = new Set();
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim();
  const element = walker.currentNode.parentElement;
  const all = { checkOpacity: true, checkVisibilityCSS: true, contentVisibilityAuto: true };
  const isShown = element.checkVisibility(all);
  if (!text || !isShown || element.closest('noscript, .unseen, option')) continue;
  const [a, b] = [luminance(colour(getComputedStyle(element).color)), luminance(ground(element))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) found.add(`${text.slice(0, 40)}: ${contrast.toFixed(2)}`);
}
return [...found];
