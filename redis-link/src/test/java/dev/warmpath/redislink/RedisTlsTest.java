package dev.warmpath.redislink;

import static dev.warmpath.redislink.TestRedis.await;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real server that speaks TLS, with a certificate of its own making for 127.0.0.1. */
class RedisTlsTest {

    private static final String PASSWORD = "changeit";

    @TempDir
    Path files;

    @BeforeEach
    void makeCertificate() throws IOException, InterruptedException, GeneralSecurityException {
        Path store = files.resolve("store.p12");
        new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "keytool").toString(), "-genkeypair",
                "-keystore", store.toString(), "-storepass", PASSWORD, "-alias", "redis", "-keyalg", "EC",
                "-dname", "CN=redis", "-ext", "san=ip:127.0.0.1", "-ext", "bc=ca:true").inheritIO().start().waitFor();
        KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
        write("key.pem", "PRIVATE KEY", keys.getKey("redis", PASSWORD.toCharArray()).getEncoded());
        write("ca.pem", "CERTIFICATE", keys.getCertificate("redis").getEncoded());
    }

    @Test
    void a_server_is_trusted_by_the_given_authority_only() {
        int tlsPort = TestRedis.freePort();
        try (TestRedis _ = TestRedis.started("tls-port " + tlsPort, "tls-auth-clients no",
                "tls-cert-file " + files.resolve("ca.pem"), "tls-key-file " + files.resolve("key.pem"),
                "tls-ca-cert-file " + files.resolve("ca.pem"));
                RedisLink trusting = RedisLink.open(properties(tlsPort, files.resolve("ca.pem")));
                RedisLink careful = RedisLink.open(properties(tlsPort, null))) {
            await("connected", trusting::isConnected);
            assertThat(trusting.commands().set("a", RedisLinkTest.bytes("1"))).isEqualTo("OK");
            await("refused", () -> String.valueOf(careful.problem())
                    .contains("unable to find valid certification path"));
        }
    }

    private static RedisProperties properties(int port, @Nullable Path authority) {
        return new RedisProperties("rediss://127.0.0.1:" + port, false, null, null, authority, RedisLinkTest.LONG,
                RedisLinkTest.LONG, 10_000, 8);
    }

    private void write(String name, String kind, byte[] content) throws IOException {
        Files.writeString(files.resolve(name), "-----BEGIN " + kind + "-----\n"
                + Base64.getMimeEncoder().encodeToString(content) + "\n-----END " + kind + "-----\n");
    }
}
