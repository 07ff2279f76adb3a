import type { sendUnaryData, ServerUnaryCall, ServerWritableStream } from '@grpc/grpc-js';
import { nodeService } from '../../src/generated/proto/csi/v1/csi.js';
import { devicePluginService } from '../../src/generated/proto/deviceplugin/v1beta1/deviceplugin.js';
import { registrationService as pluginRegistrationService } from '../../src/generated/proto/pluginregistration/v1/pluginregistration.js';
import { PluginServer } from '../../src/device-plugin/plugin-server.js';

/** The answers of a raw plugin, octet by octet; a call that is not named is answered with an empty message. */
export interface RawAnswers {
  readonly GetDevicePluginOptions?: Buffer;
  readonly GetInfo?: Buffer;
  readonly NodeGetInfo?: Buffer;
}

type Stream = ServerWritableStream<unknown, Buffer>;

const raw = <M extends object>(method: M): M & { responseSerialize: (bytes: Buffer) => Buffer } => ({
  ...method,
  responseSerialize: (bytes: Buffer) => bytes,
});
const SERVICE = {
  GetDevicePluginOptions: raw(devicePluginService.GetDevicePluginOptions),
  ListAndWatch: raw(devicePluginService.ListAndWatch),
  GetInfo: raw(pluginRegistrationService.GetInfo),
  NotifyRegistrationStatus: raw(pluginRegistrationService.NotifyRegistrationStatus),
  NodeGetInfo: raw(nodeService.NodeGetInfo),
};

/** A plugin of any type whose answers are octets, not messages. */
export class RawPlugin {
  /** How often each method was answered. */
  readonly answered = new Map<keyof typeof SERVICE, number>();
  readonly #streams: Stream[] = [];
  #server: PluginServer | undefined;

  /** Serves; does not register. */
  static async start(socket: string, answers: RawAnswers): Promise<RawPlugin> {
    const plugin = new RawPlugin();
    const unary = (method: keyof typeof SERVICE, answer: Buffer = Buffer.alloc(0)) => {
      return (_call: ServerUnaryCall<unknown, Buffer>, reply: sendUnaryData<Buffer>): void => {
        reply(null, answer);
        plugin.answered.set(method, (plugin.answered.get(method) ?? 0) + 1);
      };
    };
    plugin.#server = await PluginServer.listen(socket, (server) =>
      server.addService(SERVICE, {
        GetDevicePluginOptions: unary('GetDevicePluginOptions', answers.GetDevicePluginOptions),
        ListAndWatch: (stream: Stream) => void plugin.#streams.push(stream.on('error', () => undefined)),
        GetInfo: unary('GetInfo', answers.GetInfo),
        NotifyRegistrationStatus: unary('NotifyRegistrationStatus'),
        NodeGetInfo: unary('NodeGetInfo', answers.NodeGetInfo),
      }),
    );
    return plugin;
  }

  /** The list streams that were opened so far. */
  get streams(): readonly Stream[] {
    return this.#streams;
  }

  /** Open connections. */
  get connections(): number {
    return this.#server?.connections ?? 0;
  }

  async stop(): Promise<void> {
    await this.#server?.close();
  }
}
