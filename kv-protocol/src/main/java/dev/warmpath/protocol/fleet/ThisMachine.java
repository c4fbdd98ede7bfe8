package dev.warmpath.protocol.fleet;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * By which names a port is asked that is bound to loopback. A browser on this machine reaches it in the name of any
 * page that it shows, and any page may have a name of its own point here: requests by such a name are not to be
 * answered.
 */
public final class ThisMachine {

    private static final Pattern ADDRESS = Pattern.compile("[0-9.]+|\\[[0-9A-Fa-f:.]+]");

    private ThisMachine() {}

    /** @param host of a {@code Host} header, without the port; nobody is asked what a name stands for */
    public static boolean isNamed(@Nullable String host) {
        if (host == null || host.equalsIgnoreCase("localhost")) {
            return host != null;
        }
        try {
            String name = host.contains(":") && !host.startsWith("[") ? "[" + host + "]" : host;
            return ADDRESS.matcher(name).matches() && InetAddress.getByName(host).isLoopbackAddress();
        } catch (UnknownHostException _) {
            return false;
        }
    }
}
