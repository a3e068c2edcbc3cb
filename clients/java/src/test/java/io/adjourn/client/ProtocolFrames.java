package io.adjourn.client;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/** The frames that stand in protocol.md. */
final class ProtocolFrames {
    record Frame(byte[] bytes, String text) {
        int opcode() {
            return bytes[4] & 0xff;
        }

        int requestId() {
            return bytes[8] & 0xff | (bytes[9] & 0xff) << 8;
        }

        byte[] payload() {
            return java.util.Arrays.copyOfRange(bytes, 12, bytes.length);
        }
    }

    private ProtocolFrames() {
    }

    static List<Frame> requests() {
        return frames("```frame request");
    }

    static List<Frame> responses() {
        return frames("```frame response");
    }

    private static List<Frame> frames(String fence) {
        List<Frame> frames = new ArrayList<>();
        StringBuilder hex = null;
        StringBuilder text = new StringBuilder();
        for (String line : lines()) {
            if (line.equals(fence)) {
                hex = new StringBuilder();
                text.setLength(0);
            } else if (hex != null && line.equals("```")) {
                frames.add(new Frame(HexFormat.of().parseHex(hex), text.toString()));
                hex = null;
            } else if (hex != null && line.startsWith("=")) {
                text.append(line.substring(1).strip()).append(' ');
            } else if (hex != null) {
                hex.append(line.split("#")[0].replace(" ", ""));
            }
        }
        return frames;
    }

    private static List<String> lines() {
        for (Path folder = Path.of("").toAbsolutePath(); folder != null; folder = folder.getParent()) {
            Path found = folder.resolve("protocol.md");
            if (Files.exists(found)) {
                try {
                    return Files.readAllLines(found);
                } catch (IOException e) {
                    throw new AssertionError(e);
                }
            }
        }
        throw new AssertionError("protocol.md is not above this folder");
    }
}
