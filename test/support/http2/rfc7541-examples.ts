/** One header block of an example: its octets, what it says, and the table after it as name, value and size. */
export interface RfcBlock {
  readonly hex: string;
  readonly fields: readonly (readonly [string, string])[];
  readonly table: readonly (readonly [string, string, number])[];
}

/** Blocks that one decoder takes in turn; `tableBytes`: the table size the example starts from. */
export interface RfcSeries {
  readonly title: string;
  readonly tableBytes: number | undefined;
  readonly blocks: readonly RfcBlock[];
}

const AUTHORITY = [':authority', 'www.example.com', 57] as const;
const NO_CACHE = ['cache-control', 'no-cache', 53] as const;
const CUSTOM = ['custom-key', 'custom-value', 54] as const;
const STATUS_302 = [':status', '302', 42] as const;
const STATUS_307 = [':status', '307', 42] as const;
const PRIVATE = ['cache-control', 'private', 52] as const;
const DATE_21 = ['date', 'Mon, 21 Oct 2013 20:13:21 GMT', 65] as const;
const DATE_22 = ['date', 'Mon, 21 Oct 2013 20:13:22 GMT', 65] as const;
const LOCATION = ['location', 'https://www.example.com', 63] as const;
const GZIP = ['content-encoding', 'gzip', 52] as const;
const COOKIE = ['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1', 98] as const;

const REQUESTS = [
  { fields: [...request('GET', 'http', '/'), pair(AUTHORITY)], table: [AUTHORITY] },
  { fields: [...request('GET', 'http', '/'), pair(AUTHORITY), pair(NO_CACHE)], table: [NO_CACHE, AUTHORITY] },
  {
    fields: [...request('GET', 'https', '/index.html'), pair(AUTHORITY), pair(CUSTOM)],
    table: [CUSTOM, NO_CACHE, AUTHORITY],
  },
];
const RESPONSES = [
  {
    fields: [pair(STATUS_302), pair(PRIVATE), pair(DATE_21), pair(LOCATION)],
    table: [LOCATION, DATE_21, PRIVATE, STATUS_302],
  },
  {
    fields: [pair(STATUS_307), pair(PRIVATE), pair(DATE_21), pair(LOCATION)],
    table: [STATUS_307, LOCATION, DATE_21, PRIVATE],
  },
  {
    fields: [[':status', '200'] as const, pair(PRIVATE), pair(DATE_22), pair(LOCATION), pair(GZIP), pair(COOKIE)],
    table: [COOKIE, GZIP, DATE_22],
  },
];

/** The decoding examples of RFC 7541 appendix C. */
export const RFC_SERIES: readonly RfcSeries[] = [
  single('C.2.1, a literal with indexing', '400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', {
    fields: [['custom-key', 'custom-header']],
    table: [['custom-key', 'custom-header', 55]],
  }),
  single('C.2.2, a literal without indexing', '040c 2f73 616d 706c 652f 7061 7468', {
    fields: [[':path', '/sample/path']],
    table: [],
  }),
  single('C.2.3, a literal never indexed', '1008 7061 7373 776f 7264 0673 6563 7265 74', {
    fields: [['password', 'secret']],
    table: [],
  }),
  single('C.2.4, an indexed field', '82', { fields: [[':method', 'GET']], table: [] }),
  series('C.3, requests without Huffman coding', undefined, REQUESTS, [
    '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    '8286 84be 5808 6e6f 2d63 6163 6865',
    '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
  ]),
  series('C.4, requests with Huffman coding', undefined, REQUESTS, [
    '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
    '8286 84be 5886 a8eb 1064 9cbf',
    '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
  ]),
  series('C.5, responses without Huffman coding', 256, RESPONSES, [
    '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d ' +
      '546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    '4803 3330 37c1 c0bf',
    '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f ' +
      '6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b ' +
      '2076 6572 7369 6f6e 3d31',
  ]),
  series('C.6, responses with Huffman coding', 256, RESPONSES, [
    '4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 ' +
      '8f0b 97c8 e9ae 82ae 43d3',
    '4883 640e ffc1 c0bf',
    '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 ' +
      'dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
  ]),
];

function request(method: string, scheme: string, path: string): (readonly [string, string])[] {
  return [
    [':method', method],
    [':scheme', scheme],
    [':path', path],
  ];
}

function pair([name, value]: readonly [string, string, number]): readonly [string, string] {
  return [name, value];
}

function single(title: string, hex: string, block: Omit<RfcBlock, 'hex'>): RfcSeries {
  return { title, tableBytes: undefined, blocks: [{ hex, ...block }] };
}

function series(
  title: string,
  tableBytes: number | undefined,
  blocks: readonly Omit<RfcBlock, 'hex'>[],
  hexes: readonly string[],
): RfcSeries {
  return { title, tableBytes, blocks: blocks.map((block, at) => ({ hex: hexes[at] ?? '', ...block })) };
}
