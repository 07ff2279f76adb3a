// The package `plugin-broker`: a broker of its own for a program (docs/library.md).
export { startBroker } from './library/start-broker.js';
export { BrokerError, WaitError } from './library/broker-api.js';
export type {
  Broker,
  BrokerErrorCode,
  BrokerEvents,
  BrokerOptions,
  ConfigInput,
  EventFilter,
  PluginMatch,
  PluginRef,
  ReasonCode,
  Recording,
  RefuseRule,
  ResourceMatch,
  RestartOptions,
  WaitOptions,
} from './library/broker-api.js';
export type { BrokerEvent, EventType } from './model/event.js';
export type { PluginState } from './model/plugin.js';
export type { RefusalCode } from './model/reasons.js';
export type {
  BrokerView,
  CheckpointView,
  DeviceView,
  ExplainView,
  FrontShown,
  LedgerView,
  LimitView,
  PluginCounters,
  PluginView,
  PolicyView,
  ResourceView,
  StatusView,
} from './model/views.js';
