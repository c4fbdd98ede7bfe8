package dev.warmpath.process;

import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.context.properties.ConfigurationPropertiesBean;
import org.springframework.context.ApplicationContext;

/**
 * {@code settings} in {@code /actuator/info}: a hash of the settings as they are in force, defaults included, by which
 * replicas that differ are found, and one of each capability's, by which it is found where they differ. However a value
 * was written, {@code 1s} or {@code 1000ms}, it counts as what it means.
 *
 * <p>Left out is what may differ, as a process's id, address and card; and secrets, since whoever has a hash can try out
 * what it is of.
 */
final class SettingsInfo implements InfoContributor {

    private static final Set<String> SECRETS = Set.of("token", "previous-token", "password", "api-key");
    private static final Set<String> OF_ONE_PROCESS =
            Set.of("warmpath.worker.id", "warmpath.worker.base-url", "warmpath.compute.cuda.device",
                    "warmpath.engine.url", "warmpath.engine.rank", "warmpath.engine.events.endpoint",
                    "warmpath.engine.events.replay-endpoint");
    /** {@code user:password@} of an address. */
    private static final String CREDENTIALS = "(?<=//)[^/]*@";
    private static final int HASH_DIGITS = 16;
    private static final int CAPABILITY_DIGITS = 8;

    private final ApplicationContext context;

    SettingsInfo(ApplicationContext context) {
        this.context = context;
    }

    @Override
    public void contribute(Info.Builder builder) {
        SortedMap<String, String> settings = settings();
        SortedMap<String, String> capabilities = settings.entrySet().stream().collect(Collectors.groupingBy(
                setting -> setting.getKey().split("\\.")[1], TreeMap::new, Collectors.collectingAndThen(
                        Collectors.mapping(Object::toString, Collectors.joining("\n")),
                        text -> digits(text, CAPABILITY_DIGITS))));
        builder.withDetail("settings", Map.of(
                "hash", digits(settings.toString(), HASH_DIGITS), "capabilities", capabilities));
    }

    /** What is hashed: by name, as text. */
    SortedMap<String, String> settings() {
        SortedMap<String, String> settings = new TreeMap<>();
        ConfigurationPropertiesBean.getAll(context).values().forEach(bean -> {
            String prefix = Objects.requireNonNull(bean.getAnnotation()).prefix();
            if (prefix.startsWith(SettingNames.PREFIX + ".")) {
                addAll(prefix, bean.getInstance(), settings);
            }
        });
        settings.keySet().removeAll(OF_ONE_PROCESS);
        settings.keySet().removeIf(name -> SECRETS.contains(name.substring(name.lastIndexOf('.') + 1)));
        return settings;
    }

    private static void addAll(String prefix, Object properties, Map<String, String> settings) {
        for (RecordComponent setting : properties.getClass().getRecordComponents()) {
            String name = prefix + "." + setting.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
            Object value = valueOf(setting, properties);
            if (value != null && value.getClass().isRecord()) {
                addAll(name, value, settings);
            } else {
                settings.put(name, text(value));
            }
        }
    }

    private static @Nullable Object valueOf(RecordComponent setting, Object properties) {
        try {
            setting.getAccessor().setAccessible(true);             // most records of settings are their package's own
            return setting.getAccessor().invoke(properties);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("cannot read " + setting, e);
        }
    }

    private static String text(@Nullable Object value) {
        return (value instanceof Map<?, ?> table ? new TreeMap<>(table) : String.valueOf(value)).toString()
                .replaceAll(CREDENTIALS, "");
    }

    private static String digits(String text, int count) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return HexFormat.of().formatHex(digest, 0, count / 2);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);                    // each JDK has it
        }
    }
}
