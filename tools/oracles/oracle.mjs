// Answers questions on standard input, one JSON value a line, with one JSON value a line.
//
//   node oracle.mjs url     {"base": "http://h/", "ref": "a#b"}  →  {"href": "http://h/a#b"}, or {} for what is no URL
//   node oracle.mjs html    "<a href=x>"  →  [{"tag": "a", "svg": false, "attr": "href", "value": "x"}], scripting off
//   node oracle.mjs cdxj    "/tmp/a.warc.gz"  →  ["org,example)/ 20261121095355 {...}"], the lines of its index
import { createReadStream } from "node:fs";
import { basename } from "node:path";
import { createInterface } from "node:readline";
import { parse, html } from "parse5";
import { CDXIndexer } from "warcio";
import whatwg from "whatwg-url";

function url({ base, ref }) {
  const u = whatwg.parseURL(ref, base ? { baseURL: whatwg.parseURL(base) } : {});
  if (u === null) return {};
  u.username = u.password = "";
  return { href: whatwg.serializeURL(u) };
}

function attributes(doc) {
  const found = [];
  const todo = [parse(doc, { scriptingEnabled: false })];
  while (todo.length > 0) {
    const n = todo.pop();
    for (const a of n.attrs ?? []) {
      found.push({ tag: n.tagName, svg: n.namespaceURI === html.NS.SVG, attr: a.prefix ? `${a.prefix}:${a.name}` : a.name, value: a.value });
    }
    if (n.content) todo.push(n.content);
    todo.push(...[...(n.childNodes ?? [])].reverse());
  }
  return found;
}

async function cdxj(file) {
  const indexer = new CDXIndexer({ format: "cdxj" });
  const lines = [];
  for await (const entry of indexer.iterIndex([{ filename: basename(file), reader: createReadStream(file) }])) {
    lines.push(indexer.serialize(entry).trimEnd());
  }
  return lines;
}

const answer = { url, html: attributes, cdxj }[process.argv[2]];
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + "\n");
}
