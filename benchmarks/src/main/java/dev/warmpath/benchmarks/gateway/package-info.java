/**
 * What the router costs as a gateway, beside other gateways in the same run: processor time, throughput, added delay and
 * memory over mock workers and clients written in C ({@code benchmarks/gateway}), whose own cost is not in the figures.
 */
@NullMarked
package dev.warmpath.benchmarks.gateway;

import org.jspecify.annotations.NullMarked;
