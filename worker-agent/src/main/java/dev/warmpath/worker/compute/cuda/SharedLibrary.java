package dev.warmpath.worker.compute.cuda;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.util.Optional;

/** A library that has been loaded and stays so until the process ends. @param name as it was asked for */
record SharedLibrary(String name, SymbolLookup symbols) {

    /**
     * A function of this library, bound.
     * @param symbol as exported: versions of a function have names of their own ({@code cuMemAlloc_v2})
     */
    @SuppressWarnings("restricted")   // the signature is copied from the header; nothing checks it
    NativeFunction function(String symbol, MemoryLayout result, MemoryLayout... parameters)
            throws CudaUnavailableException {
        Optional<MemorySegment> address = symbols.find(symbol);
        if (address.isEmpty()) {
            throw new CudaUnavailableException(name + " has no function " + symbol + ": it is not the library it is "
                    + "taken for, or older than CUDA " + CudaCard.versionText(CudaCard.OLDEST_DRIVER));
        }
        return new NativeFunction(symbol, Linker.nativeLinker()
                .downcallHandle(address.get(), FunctionDescriptor.of(result, parameters)));
    }
}
