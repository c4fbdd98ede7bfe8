package dev.warmpath.benchmarks.gateway;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;

/** Free ports on loopback. */
final class Ports {

    private Ports() {}

    /** One that is free now; somebody may take it before it is used. */
    static int free() throws IOException {
        try (var socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
