package dev.warmpath.worker.compute.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import dev.warmpath.worker.compute.ComputeException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/**
 * The functions of cuBLASLt ({@code cublasLt.h}, versions 12 and 13) that we use. Handles and device pointers are
 * longs. Every status other than success becomes a {@link ComputeException} with function, name and number.
 */
record CublasLt(
        SharedLibrary library,
        NativeFunction cublasLtCreate,                 // (cublasLtHandle_t*)
        NativeFunction cublasLtDestroy,                // (cublasLtHandle_t)
        NativeFunction cublasLtMatmulDescCreate,       // (cublasLtMatmulDesc_t*, cublasComputeType_t, cudaDataType_t)
        NativeFunction cublasLtMatmulDescSetAttribute, // (desc, cublasLtMatmulDescAttributes_t, const void*, size_t)
        NativeFunction cublasLtMatmulDescDestroy,      // (cublasLtMatmulDesc_t)
        NativeFunction cublasLtMatrixLayoutCreate,     // (layout*, cudaDataType, uint64_t rows, uint64_t cols,
                                                       //  int64_t ld)
        NativeFunction cublasLtMatrixLayoutDestroy,    // (cublasLtMatrixLayout_t)
        NativeFunction cublasLtMatmulPreferenceCreate, // (cublasLtMatmulPreference_t*)
        NativeFunction cublasLtMatmulPreferenceSetAttribute, // (pref, cublasLtMatmulPreferenceAttributes_t,
                                                       //  const void*, size_t)
        NativeFunction cublasLtMatmulPreferenceDestroy, // (cublasLtMatmulPreference_t)
        NativeFunction cublasLtMatmulAlgoGetHeuristic, // (handle, desc, A, B, C, D layouts, pref, int requested,
                                                       //  cublasLtMatmulHeuristicResult_t[], int* returned)
        NativeFunction cublasLtMatmul) {               // (handle, desc, const void* alpha, A, layout, B, layout,
                                                       //  const void* beta, C, layout, D, layout, const algo*,
                                                       //  void* workspace, size_t workspaceBytes, cudaStream_t)

    static final int R_32F = 0;                         // cudaDataType, library_types.h
    static final int R_16BF = 14;
    private static final int COMPUTE_32F = 68;          // cublasComputeType_t, cublas_api.h
    private static final int OP_T = 1;                  // cublasOperation_t, cublas_api.h

    // cublasLtMatmulDescAttributes_t; transposition of the other operand is off unless set
    private static final int DESC_TRANSA = 3;

    // cublasLtMatmulPreferenceAttributes_t
    private static final int PREF_MAX_WORKSPACE_BYTES = 1;
    private static final int PREF_REDUCTION_SCHEME_MASK = 3;
    private static final int PREF_MIN_ALIGNMENT_A_BYTES = 5;
    private static final int PREF_MIN_ALIGNMENT_D_BYTES = 8;

    /** cublasLtReductionScheme_t: partial sums are kept in float32; the schemes left out round them to the output. */
    private static final int REDUCTION_SCHEME_COMPUTE_TYPE = 2;

    /**
     * cublasLtMatmulHeuristicResult_t: algorithm (8 × uint64), workspaceSize (size_t), state (int), wavesCount (float),
     * reserved (4 × int).
     */
    static final int HEURISTIC_RESULT_BYTES = 96;
    private static final int RESULT_STATE_OFFSET = 72;

    /** @throws CudaUnavailableException if the library lacks one of the functions */
    static CublasLt bind(SharedLibrary library) throws CudaUnavailableException {
        return new CublasLt(library,
                library.function("cublasLtCreate", JAVA_INT, ADDRESS),
                library.function("cublasLtDestroy", JAVA_INT, JAVA_LONG),
                library.function("cublasLtMatmulDescCreate", JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT),
                library.function("cublasLtMatmulDescSetAttribute", JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS, JAVA_LONG),
                library.function("cublasLtMatmulDescDestroy", JAVA_INT, JAVA_LONG),
                library.function("cublasLtMatrixLayoutCreate", JAVA_INT, ADDRESS, JAVA_INT, JAVA_LONG, JAVA_LONG,
                        JAVA_LONG),
                library.function("cublasLtMatrixLayoutDestroy", JAVA_INT, JAVA_LONG),
                library.function("cublasLtMatmulPreferenceCreate", JAVA_INT, ADDRESS),
                library.function("cublasLtMatmulPreferenceSetAttribute", JAVA_INT, JAVA_LONG, JAVA_INT, ADDRESS,
                        JAVA_LONG),
                library.function("cublasLtMatmulPreferenceDestroy", JAVA_INT, JAVA_LONG),
                library.function("cublasLtMatmulAlgoGetHeuristic", JAVA_INT, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG,
                        JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_INT, ADDRESS, ADDRESS),
                library.function("cublasLtMatmul", JAVA_INT, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG,
                        JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG, JAVA_LONG, JAVA_LONG, JAVA_LONG, ADDRESS, JAVA_LONG,
                        JAVA_LONG, JAVA_LONG));
    }

    /** On the device of the calling thread's context. */
    long create() {
        return result(cublasLtCreate);
    }

    void destroy(long handle) {
        check(cublasLtDestroy.call(handle), cublasLtDestroy);
    }

    /** A product Aᵀ · B in float32. */
    long createTransposedProduct() {
        long product = result(cublasLtMatmulDescCreate, COMPUTE_32F, R_32F);
        try {
            setInt(cublasLtMatmulDescSetAttribute, product, DESC_TRANSA, OP_T);
        } catch (ComputeException refused) {
            cublasLtMatmulDescDestroy.call(product);
            throw refused;
        }
        return product;
    }

    void destroyProduct(long product) {
        check(cublasLtMatmulDescDestroy.call(product), cublasLtMatmulDescDestroy);
    }

    /**
     * A matrix whose columns are contiguous.
     * @param type   R_32F or R_16BF
     * @param stride from one to the next, elements
     */
    long createLayout(int type, long rows, long columns, long stride) {
        return result(cublasLtMatrixLayoutCreate, type, rows, columns, stride);
    }

    void destroyLayout(long layout) {
        check(cublasLtMatrixLayoutDestroy.call(layout), cublasLtMatrixLayoutDestroy);
    }

    /** What an algorithm may ask for: so much workspace, matrices aligned like this, sums in float32. */
    long createPreference(long workspaceBytes, int alignmentBytes) {
        long preference = result(cublasLtMatmulPreferenceCreate);
        try (Arena arena = Arena.ofConfined()) {
            NativeFunction set = cublasLtMatmulPreferenceSetAttribute;
            check(set.invoke(preference, PREF_MAX_WORKSPACE_BYTES, arena.allocateFrom(JAVA_LONG, workspaceBytes), 8L),
                    set);
            setInt(set, preference, PREF_REDUCTION_SCHEME_MASK, REDUCTION_SCHEME_COMPUTE_TYPE);
            for (int matrix = PREF_MIN_ALIGNMENT_A_BYTES; matrix <= PREF_MIN_ALIGNMENT_D_BYTES; matrix++) {
                setInt(set, preference, matrix, alignmentBytes);
            }
        } catch (ComputeException refused) {
            cublasLtMatmulPreferenceDestroy.call(preference);
            throw refused;
        }
        return preference;
    }

    void destroyPreference(long preference) {
        check(cublasLtMatmulPreferenceDestroy.call(preference), cublasLtMatmulPreferenceDestroy);
    }

    /**
     * Asks for the algorithm that the library thinks best for D = Aᵀ · B.
     * @param algorithm receives it, {@link #HEURISTIC_RESULT_BYTES}
     * @param attempted for the message
     */
    void chooseAlgorithm(long handle, long product, long a, long b, long d, long preference, MemorySegment algorithm,
            Object attempted) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment found = arena.allocate(JAVA_INT);
            int status = cublasLtMatmulAlgoGetHeuristic.invoke(handle, product, a, b, d, d, preference, 1, algorithm,
                    found);
            if (status == 0 && found.get(JAVA_INT, 0) > 0) {
                status = algorithm.get(JAVA_INT, RESULT_STATE_OFFSET);
            } else if (status == 0) {
                throw new ComputeException(cublasLtMatmulAlgoGetHeuristic.name() + ": no algorithm for " + attempted);
            }
            check(status, cublasLtMatmulAlgoGetHeuristic, attempted);
        }
    }

    /**
     * Enqueues D = alpha · Aᵀ · B + beta · D.
     * @param attempted for the message
     */
    void multiply(long handle, long product, MemorySegment alpha, long a, long aLayout, long b, long bLayout,
            MemorySegment beta, long d, long dLayout, MemorySegment algorithm, DevicePointer workspace, long stream,
            Object attempted) {
        int status;
        try {
            status = (int) cublasLtMatmul.handle().invokeExact(handle, product, alpha, a, aLayout, b, bLayout, beta,
                    d, dLayout, d, dLayout, algorithm, workspace.address(), workspace.bytes(), stream);
        } catch (Throwable thrown) {
            throw NativeFunction.notOfNative(thrown);
        }
        check(status, cublasLtMatmul, attempted);
    }

    private long result(NativeFunction function, Object... others) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment cell = arena.allocate(JAVA_LONG);
            Object[] arguments = new Object[others.length + 1];
            arguments[0] = cell;
            System.arraycopy(others, 0, arguments, 1, others.length);
            check(function.invoke(arguments), function);
            return cell.get(JAVA_LONG, 0);
        }
    }

    private static void setInt(NativeFunction set, long target, int attribute, int value) {
        try (Arena arena = Arena.ofConfined()) {
            check(set.invoke(target, attribute, arena.allocateFrom(JAVA_INT, value), 4L), set);
        }
    }

    private static void check(int status, NativeFunction function) {
        if (status != 0) {
            throw new ComputeException(function.name() + ": " + statusText(status));
        }
    }

    private static void check(int status, NativeFunction function, Object attempted) {
        if (status != 0) {
            throw new ComputeException(function.name() + ": " + statusText(status) + ", " + attempted);
        }
    }

    /** cublasStatus_t, cublas_api.h. */
    private static String statusText(int status) {
        String name = switch (status) {
            case 1 -> "CUBLAS_STATUS_NOT_INITIALIZED";
            case 3 -> "CUBLAS_STATUS_ALLOC_FAILED";
            case 7 -> "CUBLAS_STATUS_INVALID_VALUE";
            case 8 -> "CUBLAS_STATUS_ARCH_MISMATCH";
            case 11 -> "CUBLAS_STATUS_MAPPING_ERROR";
            case 13 -> "CUBLAS_STATUS_EXECUTION_FAILED";
            case 14 -> "CUBLAS_STATUS_INTERNAL_ERROR";
            case 15 -> "CUBLAS_STATUS_NOT_SUPPORTED";
            case 16 -> "CUBLAS_STATUS_LICENSE_ERROR";
            default -> "unknown status";
        };
        return name + " (" + status + ")";
    }
}
