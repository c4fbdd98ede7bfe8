package dev.warmpath.acceptance;

import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeTransform;
import java.lang.classfile.MethodModel;
import java.lang.classfile.MethodTransform;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/**
 * A Java agent that holds threads up at random, at the beginning of any method of Reactor, Netty's channels, Spring's
 * HTTP and our services: one call in so many waits for a moment. A crowded machine does the same, but seldom at the one
 * place of a thousand where two threads get in each other's way. What is lost by it was never safe.
 */
public final class PauseAgent implements ClassFileTransformer {

    private static final int ONE_CALL_IN = 2_000;
    private static final long LONGEST_NANOS = Duration.ofMillis(3).toNanos();
    private static final MethodTypeDesc NOTHING = MethodTypeDesc.of(ConstantDescs.CD_void);
    private static final List<String> WOVEN = List.of("reactor/", "io/netty/channel/", "io/netty/util/concurrent/",
            "io/netty/handler/codec/http/", "org/springframework/http/", "org/springframework/web/reactive/",
            "dev/warmpath/");
    /** Nothing is shared there, and every call is one of many. */
    private static final List<String> LEFT_OUT = List.of("dev/warmpath/acceptance/", "dev/warmpath/worker/compute/",
            "dev/warmpath/worker/model/", "dev/warmpath/worker/kvcache/");

    /** Called by the JVM before the service's own main. */
    public static void premain(String arguments, Instrumentation instrumentation) {
        instrumentation.addTransformer(new PauseAgent());
    }

    /** What is woven in. Not a park, which would eat the wake-up of whoever is about to park. */
    public static void pause() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        if (random.nextInt(ONE_CALL_IN) == 0) {
            try {
                Thread.sleep(Duration.ofNanos(random.nextLong(LONGEST_NANOS)));
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** The JVM's option for a service that is to be held up. @param folder where the agent's jar is put */
    static String option(Path folder) throws IOException {
        Path jar = folder.resolve("pause-agent.jar");
        var manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(new Attributes.Name("Premain-Class"), PauseAgent.class.getName());
        try (var out = new JarOutputStream(Files.newOutputStream(jar), manifest)) {
            for (Class<?> type : List.of(PauseAgent.class, Weaver.class)) {
                String entry = type.getName().replace('.', '/') + ".class";
                out.putNextEntry(new JarEntry(entry));
                try (InputStream bytes = PauseAgent.class.getClassLoader().getResourceAsStream(entry)) {
                    bytes.transferTo(out);
                }
            }
        }
        return "-javaagent:" + jar;
    }

    /** @return null for a class that is left as it is */
    @Override
    public byte[] transform(
            ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (loader == null || name == null || WOVEN.stream().noneMatch(name::startsWith)
                || LEFT_OUT.stream().anyMatch(name::startsWith)) {
            return null;
        }
        ClassFile files = ClassFile.of(
                ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofResourceParsing(loader)));
        return files.transformClass(files.parse(bytes), ClassTransform.transformingMethods(
                PauseAgent::isOrdinary, MethodTransform.transformingCode(new Weaver())));
    }

    private static boolean isOrdinary(MethodModel method) {
        return method.code().isPresent() && !method.methodName().stringValue().startsWith("<");
    }

    private static final class Weaver implements CodeTransform {

        @Override
        public void atStart(CodeBuilder code) {
            code.invokestatic(ClassDesc.of(PauseAgent.class.getName()), "pause", NOTHING);
        }

        @Override
        public void accept(CodeBuilder code, CodeElement element) {
            code.with(element);
        }
    }
}
