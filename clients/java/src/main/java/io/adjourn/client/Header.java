package io.adjourn.client;

/**
 * A header of a job. All names and values of a job have at most 1,024 bytes.
 *
 * @param name its name, at most 255 bytes
 * @param value its value
 */
public record Header(String name, String value) {
}
