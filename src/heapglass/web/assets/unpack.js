// The parts of the document, out of their base64 and deflate: facts, and columns as typed arrays.

async function unpackPart(id) {
  const element = document.getElementById(id);
  const bytes = await inflate(decodeBase64(element.textContent));
  element.remove();
  const view = new DataView(bytes.buffer);
  const length = view.getUint32(0, true);
  const facts = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  const columns = {};
  let at = 4 + length;
  for (const head of facts.columns) {
    columns[head.name] = readColumn(bytes, at, head);
    at += head.bytes;
  }
  delete facts.columns;
  return {facts, columns};
}

function decodeBase64(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function readColumn(bytes, at, head) {
  const out = head.type === "i32" ? new Int32Array(head.count) : new Float64Array(head.count);
  let before = 0;
  for (let i = 0; i < head.count; i += 1) {
    let octet = bytes[at++];
    let value = octet & 127;
    // Multiplied, not shifted: values have up to 53 bits.
    for (let weight = 128; octet > 127; weight *= 128) {
      octet = bytes[at++];
      value += (octet & 127) * weight;
    }
    if (head.signed) value = value % 2 ? -(value + 1) / 2 : value / 2;
    if (head.rising) {
      value += before;
      before = value;
    }
    out[i] = value;
  }
  return out;
}
