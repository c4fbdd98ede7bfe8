package dev.warmpath.router.fleetlink;

import dev.warmpath.router.fleet.WorkerProbe;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;

/** Opens a TCP connection and closes it again. */
final class ConnectProbe implements WorkerProbe {

    private static final int CONNECT_TIMEOUT_MILLIS = 1_000;
    private static final int HTTP_PORT = 80;
    private static final int HTTPS_PORT = 443;

    @Override
    public boolean isRefused(URI baseUrl) {
        int defaultPort = "https".equalsIgnoreCase(baseUrl.getScheme()) ? HTTPS_PORT : HTTP_PORT;
        int port = baseUrl.getPort() < 0 ? defaultPort : baseUrl.getPort();
        try (var socket = new Socket()) {
            socket.connect(new InetSocketAddress(baseUrl.getHost(), port), CONNECT_TIMEOUT_MILLIS);
            return false;
        } catch (IOException e) {
            return WorkerHttp.isRefusal(e);
        }
    }
}
