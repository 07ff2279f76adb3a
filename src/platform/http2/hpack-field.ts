// One header field, and the fields that both ends know from the start.

/** The cost of an entry besides its text (RFC 7541 4.1). */
const ENTRY_OVERHEAD = 32;

/** A header field. Name and value have one character per octet (latin1), because HPACK carries octets. */
export class HeaderField {
  readonly name: string;
  readonly value: string;
  /** Must not be put into any table (RFC 7541 7.1.3). */
  readonly sensitive: boolean;
  /** Its form towards the server, once it was needed: entries of the table are sent again with every call. */
  wire: Buffer | undefined;

  /** @param sensitive whether it came as a never-indexed literal */
  constructor(name: string, value: string, sensitive = false) {
    this.name = name;
    this.value = value;
    this.sensitive = sensitive;
    this.wire = undefined;
  }

  /** Octets it counts for in a table and in a list (RFC 7541 4.1, RFC 9113 6.5.2). */
  get size(): number {
    return this.name.length + this.value.length + ENTRY_OVERHEAD;
  }
}

/** The static table (RFC 7541 appendix A); index 1 is the first. */
export const STATIC_FIELDS: readonly HeaderField[] = [
  ':authority',
  ':method=GET',
  ':method=POST',
  ':path=/',
  ':path=/index.html',
  ':scheme=http',
  ':scheme=https',
  ':status=200',
  ':status=204',
  ':status=206',
  ':status=304',
  ':status=400',
  ':status=404',
  ':status=500',
  'accept-charset',
  'accept-encoding=gzip, deflate',
  'accept-language',
  'accept-ranges',
  'accept',
  'access-control-allow-origin',
  'age',
  'allow',
  'authorization',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-length',
  'content-location',
  'content-range',
  'content-type',
  'cookie',
  'date',
  'etag',
  'expect',
  'expires',
  'from',
  'host',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-modified',
  'link',
  'location',
  'max-forwards',
  'proxy-authenticate',
  'proxy-authorization',
  'range',
  'referer',
  'refresh',
  'retry-after',
  'server',
  'set-cookie',
  'strict-transport-security',
  'transfer-encoding',
  'user-agent',
  'vary',
  'via',
  'www-authenticate',
].map((line) => {
  const [name = '', value = ''] = line.split('=');
  return new HeaderField(name, value);
});
