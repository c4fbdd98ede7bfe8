/** Measures parts of the router's {@code http} that nobody else is to see. */
package dev.warmpath.router.http;
