// Rules for plugins that are known not to bear a second ListAndWatch on one instance. They come after those of the file and are
// in force unless it says `shippedRules: off`. config/plugin-broker.yaml lists them, too; a test compares.
import type { RuleForm } from './file-form.js';

/** The shipped rules, by the names that `limits` and `check-config` call them. */
export const shippedRules = [
  // KubeVirt: a second stream closes a channel twice and the process dies; it registers afresh when its socket goes.
  { name: 'kubevirt', match: { type: 'DevicePlugin', name: 'devices.kubevirt.io/*' }, reattach: 'recycle' },
  { name: 'kubevirt-socket', match: { type: 'DevicePlugin', socket: 'kubevirt-*.sock' }, reattach: 'recycle' },
  // Intel: a broken stream stops its whole server, two compete for one channel; it restarts when its socket goes.
  {
    name: 'intel',
    match: { type: 'DevicePlugin', name: '{dlb,dsa,fpga,gpu,iaa,npu,qat,sgx}.intel.com/*' },
    reattach: 'recycle',
  },
  // SR-IOV at the Register door: streams compete for one channel; it registers afresh when its socket goes. At the
  // watcher door nothing would make it register again, so there its stream is opened again.
  {
    name: 'sr-iov',
    match: {
      type: 'DevicePlugin',
      socket: '**/device-plugins/{intel.com,mellanox.com,nvidia.com,openshift.io}_*.sock',
    },
    reattach: 'recycle',
  },
  // generic-device-plugin: streams share one remembered set and hide changes; it registers afresh when its socket goes.
  { name: 'generic-device-plugin', match: { type: 'DevicePlugin', socket: 'gdp-*.sock' }, reattach: 'recycle' },
  // NVIDIA, HAMi and simulators of them: streams share one health channel and lose events; they register afresh when
  // kubelet.sock is created, which is at every restart of the broker, and never because their own socket went.
  { name: 'nvidia', match: { type: 'DevicePlugin', name: 'nvidia.com/*' }, reattach: 'probe' },
  { name: 'nvidia-socket', match: { type: 'DevicePlugin', socket: 'nvidia-*.sock' }, reattach: 'probe' },
] as const satisfies readonly RuleForm[];
