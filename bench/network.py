# Measures TCP to a host with servers for bytes without end (19), for anything
# (9) and for echoes (7): what it gets and puts in MB/s, and what a round trip
# and a connection take in microseconds. Prints them in this order.
import socket, sys, time

host, total = sys.argv[1], int(sys.argv[2]) << 20
buffer = bytearray(1 << 20)


def dial(port):
    s = socket.create_connection((host, port), 10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def get():
    s, left, began = dial(19), total, time.time()
    while left > 0:
        left -= s.recv_into(buffer)
    s.close()
    return total / (time.time() - began) / 1e6


def put():
    s, left, began = dial(9), total, time.time()
    while left > 0:
        s.sendall(buffer)
        left -= len(buffer)
    s.shutdown(socket.SHUT_WR)
    s.recv(1)  # it has all of it
    s.close()
    return total / (time.time() - began) / 1e6


def median(values):
    return sorted(values)[len(values) // 2] * 1e6


def round_trip():
    s, took = dial(7), []
    for _ in range(1000):
        began = time.time()
        s.send(b"x")
        s.recv(1)
        took.append(time.time() - began)
    return median(took)


def connect():
    took = []
    for _ in range(100):
        began = time.time()
        s = dial(7)
        took.append(time.time() - began)
        s.close()
    return median(took)


print(get(), put(), round_trip(), connect())
