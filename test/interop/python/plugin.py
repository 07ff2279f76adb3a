"""A device plugin on the C implementation of gRPC: it serves, registers, sends its devices and flips their health.

It says on standard output what happens to it, one line each. The message classes come from protoc, the service tables
are written here: no generated service code is needed.
"""

import argparse
import os
import signal
import sys
import threading
from concurrent import futures

import grpc

import deviceplugin_pb2 as device
import pluginregistration_pb2 as registration
from services import say, stream, unary


class Plugin:
    """Serves both APIs on one socket, as plugins for either door may."""

    def __init__(self, arguments):
        self.door = arguments.door
        self.path = os.path.join(arguments.dir, arguments.endpoint)
        self.kubelet_path = os.path.join(arguments.dir, "kubelet.sock")
        self.kubelet = None
        self.server = None
        self.resource = arguments.resource
        self.devices = arguments.devices
        self.sick = False
        self.changed = threading.Condition()

    def flip(self):
        with self.changed:
            self.sick = not self.sick
            self.changed.notify_all()

    def list(self):
        last = self.devices - 1
        return device.ListAndWatchResponse(
            devices=[
                device.Device(
                    ID=f"python-{number}",
                    health="Unhealthy" if self.sick and number == last else "Healthy",
                    topology=device.TopologyInfo(nodes=[device.NUMANode(ID=number % 2)]),
                )
                for number in range(self.devices)
            ]
        )

    def get_options(self, _request, _context):
        return device.DevicePluginOptions(get_preferred_allocation_available=True)

    def list_and_watch(self, _request, context):
        say("watched")
        context.add_callback(self.wake)
        sent = None
        while context.is_active():
            with self.changed:
                if sent == self.sick:
                    self.changed.wait(1)
                    continue
                sent = self.sick
                response = self.list()
            yield response
        say("unwatched")

    def allocate(self, request, context):
        response = device.AllocateResponse()
        known = {f"python-{number}" for number in range(self.devices)}
        for container in request.container_requests:
            unknown = set(container.devices_ids) - known
            if unknown:
                context.abort(grpc.StatusCode.NOT_FOUND, f"no device {', '.join(sorted(unknown))}")
            response.container_responses.add(envs={"PYTHON_DEVICES": ",".join(container.devices_ids)})
        return response

    def preferred(self, request, _context):
        """Has no preference, which is an answer."""
        response = device.PreferredAllocationResponse()
        for _ in request.container_requests:
            response.container_responses.add()
        return response

    def wake(self):
        with self.changed:
            self.changed.notify_all()

    def get_info(self, _request, _context):
        say("asked")
        return registration.PluginInfo(type="DevicePlugin", name=self.resource, supported_versions=["v1beta1"])

    def notify(self, status, _context):
        say("registered" if status.plugin_registered else f"refused: {status.error}")
        return registration.RegistrationStatusResponse()

    def handlers(self):
        yield grpc.method_handlers_generic_handler(
            "v1beta1.DevicePlugin",
            {
                "GetDevicePluginOptions": unary(self.get_options, device.Empty),
                "ListAndWatch": stream(self.list_and_watch, device.Empty),
                "Allocate": unary(self.allocate, device.AllocateRequest),
                "GetPreferredAllocation": unary(self.preferred, device.PreferredAllocationRequest),
            },
        )
        yield grpc.method_handlers_generic_handler(
            "pluginregistration.Registration",
            {
                "GetInfo": unary(self.get_info, registration.InfoRequest),
                "NotifyRegistrationStatus": unary(self.notify, registration.RegistrationStatus),
            },
        )

    def serve(self):
        """Opens the socket anew, in one step: another instance would take a path that is free for a moment for lost."""
        if self.server is not None:
            self.server.stop(0).wait()
        private = os.path.join(os.path.dirname(self.path), f".{os.path.basename(self.path)}.{os.getpid()}")
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
        self.server.add_generic_rpc_handlers(tuple(self.handlers()))
        if self.server.add_insecure_port(f"unix://{private}") == 0:
            sys.exit(f"cannot listen on {private}")
        self.server.start()
        os.rename(private, self.path)
        say("serving")

    def register(self):
        kubelet = identity(self.kubelet_path)
        with grpc.insecure_channel(f"unix://{self.kubelet_path}") as channel:
            call = channel.unary_unary(
                "/v1beta1.Registration/Register",
                request_serializer=device.RegisterRequest.SerializeToString,
                response_deserializer=device.Empty.FromString,
            )
            request = device.RegisterRequest(
                version="v1beta1", endpoint=os.path.basename(self.path), resource_name=self.resource
            )
            call(request, wait_for_ready=True)
        self.kubelet = kubelet
        say("registered")

    def come_in(self):
        """Makes itself known; False when it was refused. Its socket, and with it the devices in use, stays where it can."""
        if self.server is None or not os.path.exists(self.path):
            self.serve()
        if self.door == "watcher":
            return True
        try:
            self.register()
        except grpc.RpcError as refusal:
            say(f"refused: {refusal.code().name} {refusal.details()}")
            return False
        return True

    def is_forgotten(self):
        """Whether the registry cannot know the plugin any more."""
        if not os.path.exists(self.path):
            return True
        kubelet = identity(self.kubelet_path)
        return self.door == "register" and kubelet not in (None, self.kubelet)


def identity(path):
    try:
        facts = os.stat(path)
    except FileNotFoundError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_ctime_ns


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--door", choices=["register", "watcher"], default="register")
    parser.add_argument("--dir", default="/var/lib/kubelet/device-plugins")
    parser.add_argument("--endpoint", default="python.sock")
    parser.add_argument("--resource", default="example.com/python")
    parser.add_argument("--devices", type=int, default=3)
    parser.add_argument("--watch", action="store_true", help="come in again when forgotten")
    arguments = parser.parse_args()

    plugin = Plugin(arguments)
    # Blocked before any thread starts, so that the loop below is the only taker.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    if not plugin.come_in() and not arguments.watch:
        plugin.server.stop(0)
        sys.exit(1)
    while True:
        if signal.sigtimedwait({signal.SIGUSR1}, 0.2) is not None:
            plugin.flip()
        elif arguments.watch and plugin.is_forgotten():
            plugin.come_in()


main()
