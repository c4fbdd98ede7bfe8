package dev.warmpath.planner.cost;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Cards, by their vendors' data sheets as of 2025: NVIDIA's on the H100, H200, A100, L4, L40S, A10 and B200 (that of
 * the HGX board, per card), its paper on the Ada architecture for the RTX 4090, AMD's on the MI300X. Operations are
 * those without sparsity, half of what NVIDIA's sheets have in front; gigabytes are billions of bytes, a little less
 * than what most drivers show.
 */
public enum Gpu {
    H100_SXM("h100-sxm", 80, 3_350, 989),
    H100_PCIE("h100-pcie", 80, 2_000, 756),
    H200("h200", 141, 4_800, 989),
    A100_40("a100-40", 40, 1_555, 312),
    A100_80("a100-80", 80, 2_039, 312),
    L4("l4", 24, 300, 121),
    L40S("l40s", 48, 864, 362),
    A10("a10", 24, 600, 125),
    B200("b200", 180, 8_000, 2_250),
    MI300X("mi300x", 192, 5_300, 1_307),
    RTX_4090("rtx-4090", 24, 1_008, 165);

    private final String text;
    private final long memoryGigabytes;
    private final double gigabytesPerSecond;
    private final double bf16Teraflops;

    Gpu(String text, long memoryGigabytes, double gigabytesPerSecond, double bf16Teraflops) {
        this.text = text;
        this.memoryGigabytes = memoryGigabytes;
        this.gigabytesPerSecond = gigabytesPerSecond;
        this.bf16Teraflops = bf16Teraflops;
    }

    /** @return null if there is none of that name */
    public static @Nullable Gpu named(String name) {
        String plain = name.strip().toLowerCase(Locale.ROOT);
        return Arrays.stream(values()).filter(each -> each.text.equals(plain)).findFirst().orElse(null);
    }

    /** Of all. */
    public static List<String> names() {
        return Arrays.stream(values()).map(Gpu::text).toList();
    }

    /** As one asks for it. */
    public String text() {
        return text;
    }

    public long memoryBytes() {
        return memoryGigabytes * 1_000_000_000;
    }

    public double bytesPerSecond() {
        return gigabytesPerSecond * 1e9;
    }

    public double bf16Flops() {
        return bf16Teraflops * 1e12;
    }
}
