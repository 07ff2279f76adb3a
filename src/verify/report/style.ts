// The style of the report. Everything can be read without it.

/** CSS; its hash stands in the policy of the page. */
export const STYLE = [
  ':root{color-scheme:light dark}body{background:#ffffff;color:#1f2328}a{color:#0550ae}',
  '@media (prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}a{color:#79c0ff}}',
  'body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:0 auto;padding:1rem}',
  'h3{display:inline;font-size:1.1rem}',
  'summary{cursor:pointer;padding:.25rem 0}',
  'details{border-top:1px solid #8c959f;padding:.25rem 0}',
  'pre{overflow:auto;max-height:30rem;padding:.5rem;border:1px solid #8c959f;font-size:.85rem}',
  'table{border-collapse:collapse}',
  'caption{text-align:left;font-weight:bold}',
  'th,td{text-align:left;vertical-align:top;padding:.2rem .8rem .2rem 0;border-bottom:1px solid #8c959f}',
  '.wide{overflow-x:auto}',
  '.wide th,.wide td{white-space:nowrap}.wide td:last-child{white-space:normal;min-width:20rem}',
  'nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1rem;list-style:none;padding:0}',
  'nav a{display:inline-block;min-height:24px}',
  'dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem}',
  'dd{margin:0;overflow-wrap:anywhere}',
  'svg{max-width:900px;height:auto;display:block}',
  '@media print{details{break-inside:avoid}nav{display:none}pre{max-height:none}}',
].join('');
