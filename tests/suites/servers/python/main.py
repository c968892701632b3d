"""The garden service by grpcio, grpcio-reflection and grpcio-health-checking: main.py --listen ADDR --health unset|serving."""

import argparse
import os
import pathlib
import signal
import sys
import threading
import time
from concurrent import futures

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "proto"))
garden, garden_grpc = grpc.protos_and_services("garden/v1/garden.proto")
control, control_grpc = grpc.protos_and_services("control/v1/control.proto")

# How long calls have to end after SIGTERM, health watches among them, in seconds. The status is 1 if one has not.
GRACE = 10


class Garden(garden_grpc.GardenServiceServicer):
    def Plant(self, request, context):
        return request

    def Locate(self, request, context):
        return request

    def Grow(self, request, context):
        for step in range(1, request.steps + 1):
            yield garden.GrowResponse(step=step, shoot=garden.Shoot(kind=request.kind))

    def Tick(self, request, context):
        time.sleep(request.wait / 1000)
        sys.stdout.write(f"ticked {request.id}\n")
        sys.stdout.flush()
        return garden.TickResponse(id=request.id)

    def Sow(self, request_iterator, context):
        return garden.SowResponse(count=sum(1 for _ in request_iterator))


class Watches(grpc.ServerInterceptor):
    """Counts the health watches."""

    def __init__(self):
        self.lock = threading.Lock()
        self.count = 0

    def intercept_service(self, continuation, handler_call_details):
        if handler_call_details.method == "/grpc.health.v1.Health/Watch":
            with self.lock:
                self.count += 1
        return continuation(handler_call_details)


class Control(control_grpc.ControlServiceServicer):
    def __init__(self, status, watches):
        self.status, self.watches = status, watches

    def SetHealth(self, request, context):
        statuses = health_pb2.HealthCheckResponse
        self.status.set("", statuses.SERVING if request.serving else statuses.NOT_SERVING)
        return control.SetHealthResponse()

    def Count(self, request, context):
        return control.CountResponse(watches=self.watches.count)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--listen")
    parser.add_argument("--health")
    flags = parser.parse_args()
    # Inherited by all threads, so that the signal is for sigwait.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])

    watches = Watches()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64), interceptors=[watches])
    garden_grpc.add_GardenServiceServicer_to_server(Garden(), server)
    status = health.HealthServicer()
    if flags.health == "unset":
        # The library begins with SERVING. This is what its Watch answers for a name that was never set.
        status.set("", health_pb2.HealthCheckResponse.SERVICE_UNKNOWN)
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    control_grpc.add_ControlServiceServicer_to_server(Control(status, watches), server)
    names = (garden.DESCRIPTOR.services_by_name["GardenService"].full_name, health.SERVICE_NAME, reflection.SERVICE_NAME)
    reflection.enable_server_reflection(names, server)
    server.add_insecure_port(flags.listen)
    server.start()
    signal.sigwait([signal.SIGTERM])
    if not server.stop(2 * GRACE).wait(GRACE):
        os._exit(1)


if __name__ == "__main__":
    main()
