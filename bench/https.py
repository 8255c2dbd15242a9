# Measures HTTPS to a host: what it gets and puts in MB/s, and what a request on
# an open connection and one with a connection of its own take in microseconds.
# Prints them in this order.
import socket, ssl, sys, time

host, name, total = sys.argv[1], sys.argv[2], int(sys.argv[3]) << 20
buffer = bytearray(1 << 20)
tls = ssl.create_default_context()
tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE


def dial():
    s = socket.create_connection((host, 443), 10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return tls.wrap_socket(s, server_hostname=name)


def head(s, method, path, more=""):
    s.sendall(f"{method} {path} HTTP/1.1\r\nHost: {name}\r\nAuthorization: Bearer no-secret\r\n{more}\r\n".encode())


def answer(s):
    got = b""
    while b"\r\n\r\nok" not in got:
        got += s.recv(4096)


def get():
    s, left, began = dial(), total, time.time()
    head(s, "GET", "/big")
    while left > 0:
        left -= s.recv_into(buffer)
    s.close()
    return total / (time.time() - began) / 1e6


def put():
    s, left, began = dial(), total, time.time()
    head(s, "PUT", "/", f"Content-Length: {total}\r\n")
    while left > 0:
        s.sendall(buffer)
        left -= len(buffer)
    answer(s)
    s.close()
    return total / (time.time() - began) / 1e6


def median(values):
    return sorted(values)[len(values) // 2] * 1e6


def request(each):
    s, took = None if each else dial(), []
    for _ in range(200):
        began = time.time()
        at = s or dial()
        head(at, "GET", "/")
        answer(at)
        took.append(time.time() - began)
        if each:
            at.close()
    return median(took)


print(get(), put(), request(False), request(True))
