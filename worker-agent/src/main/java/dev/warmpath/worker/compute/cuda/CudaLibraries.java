package dev.warmpath.worker.compute.cuda;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.SymbolLookup;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Finds NVIDIA's shared libraries. A setting decides alone, then the environment, alone too: who names a library gets
 * that one or an answer. Otherwise the loader's own search comes first, then the folders where installers put them.
 */
final class CudaLibraries {

    private final UnaryOperator<@Nullable String> environment;
    private final List<Path> folders;
    private final Function<String, SymbolLookup> loader;

    /**
     * @param environment value of a variable, null if it is not set
     * @param folders     looked through in this order
     * @param loader      takes a path or a bare name; {@link IllegalArgumentException} if there is nothing to load
     */
    CudaLibraries(UnaryOperator<@Nullable String> environment, List<Path> folders,
            Function<String, SymbolLookup> loader) {
        this.environment = environment;
        this.folders = folders;
        this.loader = loader;
    }

    static CudaLibraries ofThisMachine() {
        List<Path> folders = new ArrayList<>(toolkits(Path.of("/usr/local")));
        folders.add(Path.of("/usr/local/nvidia/lib64"));
        folders.add(Path.of("/usr/lib/x86_64-linux-gnu"));
        folders.add(Path.of("/usr/lib/aarch64-linux-gnu"));
        folders.add(Path.of("/usr/lib64"));
        return new CudaLibraries(System::getenv, folders, CudaLibraries::systemLoader);
    }

    /** {@code cuda*}{@code /lib64} in that folder: the one that is just called {@code cuda}, then the newest. */
    static List<Path> toolkits(Path parent) {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> versions = Files.newDirectoryStream(parent, "cuda*")) {
            versions.forEach(version -> found.add(version.resolve("lib64")));
        } catch (IOException unreadable) {
            return List.of();
        }
        found.sort(Comparator.reverseOrder());   // by characters, of which / comes after - and before digits
        return found;
    }

    SharedLibrary driver(@Nullable Path setting) throws CudaUnavailableException {
        return load(List.of("libcuda.so.1"), setting, "warmpath.compute.cuda.driver", "WARMPATH_CUDA_DRIVER",
                "install NVIDIA's driver", CudaUnavailableException::forWantOfDevice);
    }

    /** The newest cuBLASLt that the driver can run: each is made for drivers of its own major version or later. */
    SharedLibrary cublasLt(@Nullable Path setting, int driverVersion) throws CudaUnavailableException {
        List<String> names = driverVersion >= 13_000
                ? List.of("libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so")
                : List.of("libcublasLt.so.12", "libcublasLt.so");
        return load(names, setting, "warmpath.compute.cuda.cublas-lt", "WARMPATH_CUBLASLT",
                "install cuBLAS (it comes with the CUDA toolkit and with PyTorch, in nvidia/cu13/lib or "
                        + "nvidia/cublas/lib)", CudaUnavailableException::new);
    }

    private SharedLibrary load(List<String> names, @Nullable Path setting, String property, String variable,
            String advice, Function<String, CudaUnavailableException> nowhere) throws CudaUnavailableException {
        if (setting != null) {
            return named(setting, names, property);
        }
        String fromEnvironment = environment.apply(variable);
        if (fromEnvironment != null && !fromEnvironment.isBlank()) {
            return named(Path.of(fromEnvironment), names, variable);
        }
        List<String> candidates = new ArrayList<>(names);
        for (Path folder : folders) {
            candidates.addAll(in(folder, names));
        }
        SharedLibrary library = firstOf(candidates);
        if (library == null) {
            throw nowhere.apply("%s: found neither by the loader nor in %s; %s, or name it by %s or %s"
                    .formatted(String.join(", ", names), folders, advice, property, variable));
        }
        return library;
    }

    private SharedLibrary named(Path path, List<String> names, String namedBy) throws CudaUnavailableException {
        boolean isFolder = Files.isDirectory(path);
        List<String> candidates = isFolder ? in(path, names) : List.of(path.toString());
        SharedLibrary library = firstOf(candidates);
        if (library == null) {
            throw new CudaUnavailableException("%s, named by %s, %s".formatted(path, namedBy,
                    isFolder ? "holds no loadable " + String.join(", ", names)
                    : Files.exists(path) ? "cannot be loaded: it is not a library of this processor, or a library it "
                            + "needs is missing (ldd tells)"
                    : "does not exist"));
        }
        return library;
    }

    private static List<String> in(Path folder, List<String> names) {
        return names.stream().map(folder::resolve).filter(Files::exists).map(Path::toString).toList();
    }

    private @Nullable SharedLibrary firstOf(List<String> candidates) {
        for (String candidate : candidates) {
            try {
                return new SharedLibrary(candidate, loader.apply(candidate));
            } catch (IllegalArgumentException notLoadable) {
                // the loader's own reason does not come through; the next candidate may do
            }
        }
        return null;
    }

    /** Libraries are never unloaded: a driver that has started threads does not survive it. */
    @SuppressWarnings("restricted")   // running the library's initialisers is what loading is for
    private static SymbolLookup systemLoader(String library) {
        return SymbolLookup.libraryLookup(library, Arena.global());
    }
}
