package dev.warmpath.worker.compute.cuda;

import dev.warmpath.worker.compute.ComputeException;
import dev.warmpath.worker.compute.DeviceLostException;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.SequencedMap;
import java.util.SequencedSet;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * An open card: libraries loaded, its primary context held, kernels loaded. Everything made on it is closed with it at
 * the latest. One thread uses it at a time: any while a model is loaded, and from {@link #belongToThisThread} on that
 * one alone.
 * <p>A context is current for a thread of the operating system; each call sees to it by {@link #enter}. The primary
 * context is taken because cuBLASLt works in it.
 */
public final class CudaDevice implements AutoCloseable {

    private static final Duration OWNER_TO_END = Duration.ofSeconds(1);
    private static final Logger log = LoggerFactory.getLogger(CudaDevice.class);

    /** The device whose context is the calling thread's: the driver keeps that by thread, whatever opens it. */
    private static final ThreadLocal<@Nullable CudaDevice> CURRENT = new ThreadLocal<>();

    private final CudaDriver driver;
    private final CublasLt cublasLt;
    private final CudaCard card;
    private final long context;
    private final DeviceMemory memory;
    private final SequencedSet<DeviceObject> objects = new LinkedHashSet<>();
    private final KernelModule kernels;
    private final GemmPlans gemm;
    /** The only thread that may use the device; null while it belongs to none. */
    private volatile @Nullable Thread owner;
    private volatile boolean closed;

    /** Opens the device with the kernels of this build. */
    public static CudaDevice open(CudaSettings settings) throws CudaUnavailableException {
        return open(settings, KernelModule::imageOfThisBuild);
    }

    /** Opens the device with other kernels. @param kernelImage fatbin, native, alive as long as the device is open */
    static CudaDevice open(CudaSettings settings, MemorySegment kernelImage) throws CudaUnavailableException {
        return open(settings, _ -> kernelImage);
    }

    /** Asked for kernels last: to whoever has no card, it does not matter that this build has none. */
    static CudaDevice open(CudaSettings settings, KernelModule.Image kernels) throws CudaUnavailableException {
        requirePlatformThread();
        CudaLibraries libraries = CudaLibraries.ofThisMachine();
        CudaDriver driver = CudaDriver.bind(libraries.driver(settings.driverLibrary()));
        CudaCard card = CudaCard.find(driver, settings.device());
        CublasLt cublasLt = CublasLt.bind(libraries.cublasLt(settings.cublasLtLibrary(), card.driverVersion()));
        MemorySegment kernelImage = kernels.read(card.driverVersion());
        try {
            return new CudaDevice(driver, cublasLt, card, driver.retainPrimaryContext(card.handle()), kernelImage);
        } catch (ComputeException | DeviceLostException refused) {
            throw new CudaUnavailableException("CUDA device %s, %s, cannot be used: %s"
                    .formatted(settings.device(), card.name(), refused.getMessage()), refused);
        }
    }

    /** Takes the context over, also if this fails. */
    private CudaDevice(CudaDriver driver, CublasLt cublasLt, CudaCard card, long context, MemorySegment kernelImage)
            throws CudaUnavailableException {
        this.driver = driver;
        this.cublasLt = cublasLt;
        this.card = card;
        this.context = context;
        memory = new DeviceMemory(driver);
        try {
            enter();
            kernels = KernelModule.load(this, driver, card, kernelImage);
            gemm = new GemmPlans(this, cublasLt);
        } catch (CudaUnavailableException | RuntimeException refused) {
            try {
                close();
            } catch (ComputeException alsoRefused) {
                refused.addSuppressed(alsoRefused);
            }
            throw refused;
        }
    }

    /** The card's name. */
    public String name() {
        return card.name();
    }

    /** The newest CUDA that the driver runs: 12040 is 12.4. */
    public int driverVersion() {
        return card.driverVersion();
    }

    public int multiprocessors() {
        return card.multiprocessors();
    }

    /** Size of the cache that all multiprocessors share. */
    int l2Bytes() {
        return card.l2Bytes();
    }

    /** Major times ten plus minor: 90 is sm_90. */
    public int computeCapability() {
        return card.computeCapability();
    }

    public long totalBytes() {
        return card.totalBytes();
    }

    /** Memory that nobody has taken, other processes included. Any thread may ask, whoever owns the device. */
    public long freeBytes() {
        takeContext();
        return driver.memoryInfo()[0];
    }

    /** One line for the log: card, memory, driver, library of products. */
    public String describe() {
        return card.describe() + ", products by " + cublasLt.library().name();
    }

    /** The same, in parts, and the toolkit that compiled this build's kernels, if it has any. */
    SequencedMap<String, String> details() {
        SequencedMap<String, String> details = new LinkedHashMap<>();
        details.put("card", card.describe());
        details.put("products", cublasLt.library().name());
        String toolkit = KernelModule.toolkitOfThisBuild();
        if (toolkit != null) {
            details.put("toolkit", toolkit);
        }
        return details;
    }

    /**
     * Makes the device's context the calling thread's, if it is not yet. Every call of this package does so by itself.
     * @throws IllegalStateException on a virtual thread, whose carrier may change under it, if the device belongs to
     *                               another thread, or if it is closed
     * @throws DeviceLostException   if any call has found the device lost before: no other is tried
     */
    void enter() {
        Thread user = owner;
        if (!closed && user != null && user != Thread.currentThread()) {
            throw new IllegalStateException(
                    "the CUDA device belongs to thread %s, which submitted the first step: %s may only close it"
                            .formatted(user.getName(), Thread.currentThread().getName()));
        }
        takeContext();
    }

    private void takeContext() {
        if (closed) {
            throw new IllegalStateException("the CUDA device is closed");
        }
        driver.requireDevice();
        if (CURRENT.get() != this) {
            requirePlatformThread();
            driver.setCurrentContext(context);
            CURRENT.set(this);
        }
    }

    /** Refuses every other thread from now on, except for {@link #close}. */
    void belongToThisThread() {
        enter();
        owner = Thread.currentThread();
    }

    private static void requirePlatformThread() {
        if (Thread.currentThread().isVirtual()) {
            throw new IllegalStateException("a virtual thread cannot hold a CUDA context: use a platform thread");
        }
    }

    /**
     * Memory of undefined content, aligned to 256 bytes at least.
     * @param owner what it is for, for messages
     * @throws ComputeException if the device has no room, with owner, bytes, free and total
     */
    DevicePointer allocate(long bytes, String owner) {
        enter();
        return memory.allocate(bytes, owner);
    }

    /** Frees all that {@link #allocate} gave, once nothing that was enqueued uses it: this waits for it. */
    void free(DevicePointer pointer) {
        enter();
        memory.free(pointer);
    }

    /** @throws ComputeException if the host has no memory to pin, with owner and bytes */
    PinnedMemory allocatePinned(long bytes, String owner) {
        enter();
        return PinnedMemory.allocate(this, driver, bytes, owner);
    }

    CudaStream newStream() {
        enter();
        return new CudaStream(this, driver);
    }

    CudaEvent newEvent(boolean timed) {
        enter();
        return new CudaEvent(this, driver, timed);
    }

    /** The kernel of that name, the same object each time. @throws ComputeException if there is none */
    Kernel kernel(String name) {
        return kernels.kernel(name);
    }

    GemmPlans gemm() {
        return gemm;
    }

    void own(DeviceObject object) {
        objects.addLast(object);
    }

    void disown(DeviceObject object) {
        objects.remove(object);
    }

    /**
     * Waits for the device, frees everything that is left and lets the context go. Closing again does nothing. A device
     * that is lost is not touched: what was on it is gone with it, and calls might not come back. While the thread to
     * which the device belongs is alive, nobody else frees anything under it: it is refused from now on, and the end of
     * the process frees.
     * @throws ComputeException what the driver refused to take back first; everything else is given back all the same
     */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        requirePlatformThread();
        Thread user = owner;
        if (user != null && user != Thread.currentThread() && !hasEnded(user)) {
            closed = true;
            log.warn("thread {} still uses the CUDA device: what it holds is left to the end of the process",
                    user.getName());
            return;
        }
        owner = null;
        var refusals = new Refusals(driver);
        refusals.of(this::enter);
        refusals.of(driver::synchronizeContext);
        for (DeviceObject object : List.copyOf(objects.reversed())) {
            refusals.of(object::close);
        }
        for (DevicePointer left : memory.taken()) {
            refusals.of(() -> memory.free(left));
        }
        refusals.of(() -> driver.setCurrentContext(0));
        CURRENT.remove();
        closed = true;
        refusals.of(() -> driver.releasePrimaryContext(card.handle()));
        refusals.report();
    }

    /** Waits a moment for a thread that may be on its way out. */
    private static boolean hasEnded(Thread thread) {
        try {
            return thread.join(OWNER_TO_END);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return !thread.isAlive();
        }
    }

    /** Goes on after a failure and keeps the first; once the device is lost it does and keeps nothing. */
    private static final class Refusals {

        private final CudaDriver driver;
        private @Nullable ComputeException first;
        private boolean deviceIsLost;

        Refusals(CudaDriver driver) {
            this.driver = driver;
        }

        void of(Runnable step) {
            if (deviceIsLost) {
                return;
            }
            try {
                driver.requireDevice();
                step.run();
            } catch (DeviceLostException lost) {
                deviceIsLost = true;
            } catch (ComputeException refused) {
                if (first == null) {
                    first = refused;
                } else {
                    first.addSuppressed(refused);
                }
            }
        }

        void report() {
            if (first != null && !deviceIsLost) {
                throw first;
            }
        }
    }
}
