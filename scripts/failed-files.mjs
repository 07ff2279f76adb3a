// A reporter of node's test runner that writes what failed as one line of JSON: the files, and the runner's own count.
export default async function* failedFiles(events) {
  const files = new Set();
  let count = 0;
  for await (const { type, data } of events) {
    if (type === 'test:fail' && data.file !== undefined) files.add(data.file);
    const [, number] = (type === 'test:diagnostic' && /^(?:fail|cancelled) (\d+)$/.exec(data.message)) || [];
    if (number !== undefined) count += Number(number);
  }
  yield JSON.stringify({ files: [...files], count });
}
