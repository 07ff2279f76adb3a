// Names of .proto files as TypeScript code writes them.

/** An acronym is one word: DRAPlugin is DraPlugin, deviceIDs is deviceIds, ID is Id. */
const asWords = (name) =>
  name.replace(/[A-Z]{2,}(?=s?$|_|[A-Z][a-z])/g, (letters) => letters[0] + letters.slice(1).toLowerCase());

/** `resource_name` as `resourceName`, `ID` as `id`. */
export function memberName(name) {
  const joined = asWords(name).replace(/_(.)/g, (_, letter) => letter.toUpperCase());
  return joined[0].toLowerCase() + joined.slice(1);
}

/** `PluginCapability.Service` as `PluginCapabilityService`, `NUMANode` as `NumaNode`. */
export const typeName = (name) => name.split('.').map(asWords).join('');

/** The name of a field in JSON, as protoc makes it. */
export const jsonName = (name) => name.replace(/_+(.?)/g, (_, letter) => letter.toUpperCase());

/** The name of the message that stands for one entry of a map field, as protoc makes it. */
export const entryName = (field) => `${jsonName(`_${field}`)}Entry`;
