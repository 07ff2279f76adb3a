import { createHash, generateKeyPairSync, sign } from 'node:crypto';

/** A certificate for 127.0.0.1 that is its own authority, and its key, both as PEM. */
export interface SelfSigned {
  readonly cert: string;
  readonly key: string;
}

/** Makes a self-signed certificate (RFC 5280) for 127.0.0.1 and localhost with a new P-256 key, valid for a day. */
export function selfSigned(): SelfSigned {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  const name = seq(set(seq(oid('2.5.4.3'), der(0x0c, Buffer.from('plugin-broker test')))));
  const ecdsaWithSha256 = seq(oid('1.2.840.10045.4.3.2'));
  const dayMs = 86_400_000;
  const validity = seq(time(new Date(Date.now() - dayMs)), time(new Date(Date.now() + dayMs)));
  const names = seq(der(0x87, Buffer.from([127, 0, 0, 1])), der(0x82, Buffer.from('localhost')));
  const isCa = der(0x01, Buffer.from([0xff]));
  const extensions = der(
    0xa3,
    seq(
      seq(oid('2.5.29.17'), der(0x04, names)),
      seq(oid('2.5.29.19'), isCa, der(0x04, seq(der(0x01, Buffer.from([0xff]))))),
    ),
  );
  const serial = createHash('sha256').update(spki).digest().subarray(0, 8);
  serial[0] = 1;
  const version3 = der(0xa0, der(0x02, Buffer.from([2])));
  const body = seq(version3, der(0x02, serial), ecdsaWithSha256, name, validity, name, spki, extensions);
  const signature = sign('sha256', body, privateKey);
  const certificate = seq(body, ecdsaWithSha256, der(0x03, Buffer.concat([Buffer.from([0]), signature])));
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One value in DER (X.690): tag, length, content. */
function der(tag: number, content: Buffer): Buffer {
  const size = content.length;
  if (size < 0x80) return Buffer.concat([Buffer.from([tag, size]), content]);
  const bytes = size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...bytes]), content]);
}

function seq(...parts: readonly Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function set(...parts: readonly Buffer[]): Buffer {
  return der(0x31, Buffer.concat(parts));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const groups = [part & 0x7f];
    for (let left = part >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

function time(at: Date): Buffer {
  return der(0x18, Buffer.from(`${at.toISOString().replace(/[-:T]/g, '').slice(0, 14)}Z`));
}
