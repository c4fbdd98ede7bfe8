/**
 * The Helm chart, rendered by Helm itself and read as Kubernetes' own types: what it makes of values, which values it
 * refuses, and that every setting in it is one of the services'.
 * <p>Uses the settings of router and worker. Used by nobody.
 */
@NullMarked
package dev.warmpath.chart;

import org.jspecify.annotations.NullMarked;
