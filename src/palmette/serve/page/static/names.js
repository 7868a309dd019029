// Names of attributes in words: "short_shape[0]=x" is "the shape of this word, runs once, is x".

const PLACES = new Map([["-2", "two words before"], ["-1", "the word before"], ["0", "this word"], ["1", "the next word"], ["2", "two words on"]]);
const KINDS = new Map([
  ["word", "{}"], ["char", "{}"], ["tag", "the tag of {}"], ["lower", "{} in lower case"], ["normal", "{} with digits as 0"],
  ["shape", "the shape of {} (X capital, x small, 9 digit)"], ["short_shape", "the shape of {}, runs once (X capitals, x small letters, 9 digits)"],
  ["skeleton", "{} with * for vowels"], ["capital", "{} begins with a capital"], ["allcaps", "{} is in capitals"], ["digits", "{} has a digit"],
  ["hyphen", "{} has a hyphen"], ["punctuation", "{} is punctuation"], ["greek", "{} has a Greek letter"], ["number", "the kind of number of {}"],
  ["date", "the part of a date that {} is"], ["length", "the length of {}"], ["orthography", "how {} is written"], ["type", "the script of {}"],
]);
const FLAGS = new Set(["capital", "allcaps", "digits", "hyphen", "punctuation", "greek"]);
const SPECIAL = new Map([
  ["(transition)", "how well the label follows the one before"], ["(triple)", "how well the label follows the two before"],
  ["(start)", "how well a sentence begins with the label"], ["(end)", "how well a sentence ends with the label"], ["(bias)", "how frequent the label is"], ["bias", "how frequent the label is"],
]);
const PART = /^([\w.:]+)\[(-?\d+|first[+-]\d+|last[+-]\d+)\]=(.*)$/su;

// Null for an attribute that is not made by templates with known functions.
export function inWords(name) {
  if (SPECIAL.has(name)) return SPECIAL.get(name);
  const parts = name.replace(/ \(\w+\)$/u, "").split(/, (?=[\w.:]+\[)/u).map(part);
  return parts.every((one) => one !== null) ? parts.join(", and ") : null;
}

function part(text) {
  const found = PART.exec(text);
  if (!found) return null;
  const [, function_, row, value] = found;
  const kind = said(function_);
  if (kind === null) return null;
  const told = kind.replace("{}", place(row));
  if (FLAGS.has(function_)) return told;
  if (/^_B-\d+$/u.test(value)) return `${place(row)} is before the sentence`;
  if (/^_B\+\d+$/u.test(value)) return `${place(row)} is behind the sentence`;
  return `${told} is \u201c${value}\u201d`;
}

function said(name) {
  const affix = /^(prefix|suffix)(\d)$/u.exec(name);
  if (affix) {
    const [ends, many] = [affix[1] === "prefix" ? "first" : "last", Number(affix[2])];
    return many === 1 ? `the ${ends} letter of {}` : `the ${ends} ${many} letters of {}`;
  }
  const column = /^column(\d+)$/u.exec(name);
  return column ? `column ${column[1]} of {}` : (KINDS.get(name) ?? null);
}

function place(row) {
  const known = PLACES.get(row);
  if (known) return known;
  if (/^[-\d]/u.test(row)) return Number(row) < 0 ? `the word ${-Number(row)} before` : `the word ${row} on`;
  return row.startsWith("first") ? "a word at the beginning" : "a word at the end";
}
