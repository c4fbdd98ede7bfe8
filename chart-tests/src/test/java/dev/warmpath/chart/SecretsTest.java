package dev.warmpath.chart;

import static org.assertj.core.api.Assertions.assertThat;

import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Tokens and passwords: made once, kept by upgrades, or somebody else's. */
class SecretsTest {

    private static final String TOKENS = "demo-warmpath-tokens";
    private static final String OPERATOR_KEY = "demo-warmpath-operator-key";
    private static final Map<String, String> KNOWN =
            Map.of("fleet-token", "f".repeat(64), "management-token", "a".repeat(64));

    @Test
    void a_first_install_makes_tokens_of_256_bits_that_differ() {
        Map<String, String> first =
                Chart.withoutValues().one(Secret.class, TOKENS).getStringData();
        Map<String, String> other =
                Chart.withoutValues().one(Secret.class, TOKENS).getStringData();

        assertThat(first).containsOnlyKeys("fleet-token", "management-token");
        assertThat(first.values())
                .allMatch(token -> token.matches("[0-9a-f]{64}"))
                .doesNotHaveDuplicates();
        assertThat(first.values()).doesNotContainAnyElementsOf(other.values());
    }

    @Test
    void an_upgrade_keeps_tokens_and_pods() {
        Rendered upgrade = Chart.render("{}", Map.of(TOKENS, KNOWN));

        assertThat(upgrade.one(Secret.class, TOKENS).getStringData()).isEqualTo(KNOWN);
        assertThat(upgrade.all(Deployment.class))
                .extracting(SecretsTest::tokensOf)
                .hasSize(2)
                .containsOnly(tokensOf(Chart.render("{}", Map.of(TOKENS, KNOWN))
                        .all(Deployment.class)
                        .getFirst()));
    }

    @Test
    void a_token_that_is_missing_is_added_and_the_other_one_kept() {
        Map<String, String> tokens = Chart.render("{}", Map.of(TOKENS, Map.of("fleet-token", "f".repeat(64))))
                .one(Secret.class, TOKENS)
                .getStringData();

        assertThat(tokens).containsEntry("fleet-token", "f".repeat(64));
        assertThat(tokens.get("management-token")).matches("[0-9a-f]{64}");
    }

    @Test
    void a_secret_of_the_operators_is_used_and_its_change_starts_pods_anew() {
        String values = "tokens: {existingSecret: vault, fleetKey: fleet, managementKey: operators}\n"
                + "router: {apiKeys: {existingSecret: vault}}";
        Rendered before =
                Chart.render(values, Map.of("vault", Map.of("fleet", "one", "operators", "two", "other", "1")));
        Rendered same = Chart.render(values, Map.of("vault", Map.of("fleet", "one", "operators", "two", "other", "2")));
        Rendered rotated = Chart.render(values, Map.of("vault", Map.of("fleet", "three", "operators", "two")));

        assertThat(before.all(Secret.class)).isEmpty();
        assertThat(before.text()).doesNotContain("one\"", "two\"");
        for (String deployment : before.names(Deployment.class)) {
            assertThat(tokensOf(same.one(Deployment.class, deployment)))
                    .isEqualTo(tokensOf(before.one(Deployment.class, deployment)));
            assertThat(tokensOf(rotated.one(Deployment.class, deployment)))
                    .isNotEqualTo(tokensOf(before.one(Deployment.class, deployment)));
        }
    }

    @Test
    void while_tokens_are_changed_pods_know_the_previous_ones_too() {
        Rendered changing = Chart.render("tokens: {existingSecret: new, previousSecret: old}");

        assertThat(tokenVariables(changing.one(Deployment.class, "demo-warmpath-router")))
                .containsExactly(
                        "WARMPATH_FLEET_TOKEN=new/fleet-token", "WARMPATH_FLEET_PREVIOUSTOKEN=old/fleet-token",
                        "WARMPATH_MANAGEMENT_TOKEN=new/management-token",
                        "WARMPATH_MANAGEMENT_PREVIOUSTOKEN=old/management-token");
        assertThat(tokenVariables(changing.one(Deployment.class, "demo-warmpath-worker-tiny")))
                .containsExactly(
                        "WARMPATH_FLEET_TOKEN=new/fleet-token", "WARMPATH_FLEET_PREVIOUSTOKEN=old/fleet-token");
    }

    @Test
    void a_first_install_makes_one_key_and_routers_get_no_more_than_its_hash() {
        Rendered first = Chart.withoutValues();
        String key = first.one(Secret.class, OPERATOR_KEY).getStringData().get("operator-key");

        assertThat(key).matches("wp-[0-9a-f]{64}");
        assertThat(key).isNotEqualTo(Chart.withoutValues()
                .one(Secret.class, OPERATOR_KEY).getStringData().get("operator-key"));
        assertThat(first.one(Secret.class, "demo-warmpath-api-keys").getStringData().get("keys"))
                .matches("operator sha256:[0-9a-f]{64} operator\n").doesNotContain(key);
        assertThat(first.env("demo-warmpath-router", "WARMPATH_APIKEYS_FILE")).isEqualTo("/etc/warmpath/keys/keys");
        assertThat(secretsOf(first.one(Deployment.class, "demo-warmpath-router")))
                .contains("demo-warmpath-api-keys").doesNotContain(OPERATOR_KEY);
    }

    @Test
    void an_upgrade_keeps_the_key_and_takes_more_lines_without_new_pods() {
        Map<String, Map<String, String>> known =
                Map.of(TOKENS, KNOWN, OPERATOR_KEY, Map.of("operator-key", "wp-known"));
        Rendered before = Chart.render("{}", known);
        Rendered after = Chart.render("router: {apiKeys: {lines: ['a sha256:" + "0".repeat(64) + "']}}", known);

        assertThat(after.one(Secret.class, OPERATOR_KEY).getStringData()).containsEntry("operator-key", "wp-known");
        // printf wp-known | sha256sum
        assertThat(after.one(Secret.class, "demo-warmpath-api-keys").getStringData().get("keys"))
                .isEqualTo("operator sha256:81c540f97e862a24b9351f730311397a2e48c4fb16b43612ebd4cc99b8bb8726 operator\na sha256:" + "0".repeat(64) + "\n");
        assertThat(after.one(Deployment.class, "demo-warmpath-router"))
                .isEqualTo(before.one(Deployment.class, "demo-warmpath-router"));
    }

    @Test
    void a_file_of_the_operators_is_mounted_and_where_keys_are_off_nothing_is() {
        Rendered theirs = Chart.render("router: {apiKeys: {existingSecret: vault}}");
        Rendered off = Chart.render("router: {apiKeys: {enabled: false}}");

        assertThat(secretsOf(theirs.one(Deployment.class, "demo-warmpath-router"))).contains("vault");
        assertThat(theirs.names(Secret.class)).containsExactly(TOKENS);
        assertThat(off.names(Secret.class)).containsExactly(TOKENS);
        assertThat(off.text()).doesNotContain("APIKEYS", "key: operator-key", "api-keys");
    }

    private static List<String> secretsOf(Deployment deployment) {
        return deployment.getSpec().getTemplate().getSpec().getVolumes().stream()
                .filter(volume -> volume.getSecret() != null)
                .map(volume -> volume.getSecret().getSecretName())
                .toList();
    }

    @Test
    void redis_of_the_chart_knows_two_users_by_digests_of_passwords_that_stay() {
        String values = "redis: {mode: builtin}";
        Map<String, String> passwords = Map.of("router-password", "r", "worker-password", "w");
        Secret secret =
                Chart.render(values, Map.of("demo-warmpath-redis", passwords)).one(Secret.class, "demo-warmpath-redis");

        assertThat(secret.getStringData()).containsAllEntriesOf(passwords);
        assertThat(secret.getStringData().get("users.acl").lines())
                .hasSize(3)
                .first()
                .isEqualTo("user default off");
        // printf w | sha256sum
        assertThat(secret.getStringData().get("users.acl"))
                .contains("user warmpath-worker on "
                        + "#50e721e49c013f00c62cf59f2163542a9d8df02464efeb615d31051b0fddc326 ~warmpath:* ")
                .doesNotContain(">w");
    }

    @Test
    void other_users_or_passwords_of_redis_start_it_and_its_clients_anew_and_the_same_ones_do_not() {
        Map<String, Map<String, String>> known =
                Map.of("demo-warmpath-redis", Map.of("router-password", "r", "worker-password", "w"), TOKENS, KNOWN);
        Map<String, Map<String, String>> changed =
                Map.of("demo-warmpath-redis", Map.of("router-password", "r", "worker-password", "x"), TOKENS, KNOWN);
        String values = "redis: {mode: builtin}";
        String before = oneRedisOf(Chart.render(values, known), 3);

        assertThat(oneRedisOf(Chart.render(values, known), 3)).isEqualTo(before);
        assertThat(oneRedisOf(Chart.render(values, changed), 3)).isNotEqualTo(before);
        assertThat(oneRedisOf(Chart.render("redis: {mode: builtin, auth: {routerUsername: x}}", known), 3))
                .isNotEqualTo(before);
    }

    @Test
    void clients_of_a_redis_elsewhere_start_anew_with_its_passwords() {
        String values = "redis: {mode: external, hosts: ['r:6379'], auth: {existingSecret: users}}";

        String before = oneRedisOf(Chart.render(values, Map.of("users", Map.of("router-password", "r"))), 2);
        assertThat(oneRedisOf(Chart.render(values, Map.of("users", Map.of("router-password", "r", "other", "1"))), 2))
                .isEqualTo(before);
        assertThat(oneRedisOf(Chart.render(values, Map.of("users", Map.of("router-password", "x"))), 2))
                .isNotEqualTo(before);
        assertThat(Chart.withoutValues().all(Deployment.class)).noneMatch(each ->
                each.getSpec().getTemplate().getMetadata().getAnnotations().containsKey("warmpath.dev/redis"));
    }

    /** What all of so many Deployments say of it. */
    private static String oneRedisOf(Rendered rendered, int deployments) {
        List<String> all = rendered.all(Deployment.class).stream()
                .map(each -> each.getSpec().getTemplate().getMetadata().getAnnotations().get("warmpath.dev/redis"))
                .toList();
        assertThat(all).hasSize(deployments).doesNotContainNull();
        assertThat(all.stream().distinct()).hasSize(1);
        return all.getFirst();
    }

    private static List<String> tokenVariables(Deployment deployment) {
        return deployment.getSpec().getTemplate().getSpec().getContainers().getFirst().getEnv().stream()
                .filter(variable -> variable.getName().endsWith("TOKEN"))
                .map(variable -> variable.getName() + "="
                        + variable.getValueFrom().getSecretKeyRef().getName() + "/"
                        + variable.getValueFrom().getSecretKeyRef().getKey())
                .toList();
    }

    private static String tokensOf(Deployment deployment) {
        return deployment.getSpec().getTemplate().getMetadata().getAnnotations().get("warmpath.dev/tokens");
    }
}
