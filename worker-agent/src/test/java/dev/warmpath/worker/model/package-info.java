/** Tests of the model against an independent reference and against torch. */
@NullMarked
package dev.warmpath.worker.model;

import org.jspecify.annotations.NullMarked;
