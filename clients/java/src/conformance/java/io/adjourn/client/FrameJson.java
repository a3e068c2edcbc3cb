package io.adjourn.client;

import io.adjourn.client.internal.wire.FrameReader;
import io.adjourn.client.internal.wire.FrameWriter;
import io.adjourn.client.internal.wire.MalformedFrameException;
import io.adjourn.client.internal.wire.Opcode;
import io.adjourn.client.internal.wire.RequestEncoder;
import io.adjourn.client.internal.wire.Response;
import io.adjourn.client.internal.wire.ResponseDecoder;
import java.util.Map;

/** Whole frames in the neutral JSON form of the conformance suite. */
final class FrameJson {
    private FrameJson() {
    }

    static byte[] encodeRequest(Json frame) {
        FrameWriter out = new FrameWriter();
        RequestEncoder.encode(RequestJson.of(Opcode.valueOf(frame.text("opcode")), frame.object("fields")),
                (int) frame.number("request_id"), out);
        return out.toBytes();
    }

    static Map<String, Object> decodeResponse(byte[] frame) throws MalformedFrameException {
        Head head = Head.read(frame);
        Response response = ResponseDecoder.decode(head.opcode, head.in.rest());
        Object opcode = response instanceof Response.Unknown ? head.opcode : Opcode.of(head.opcode).name();
        return Map.of("request_id", head.id, "opcode", opcode, "fields", ResponseJson.of(response));
    }

    static Map<String, Object> decodeRequest(byte[] frame) throws MalformedFrameException {
        Head head = Head.read(frame);
        Strict.require(head.group == 0, "no such group");
        Strict.require(head.id != 0, "the request id is 0");
        Opcode opcode = Opcode.of(head.opcode);
        Strict.require(opcode != null && head.opcode < 0x80, "no such request");
        return Map.of("request_id", head.id, "opcode", opcode.name(), "fields", RequestJson.decode(opcode, head.in));
    }

    /** What every frame begins with. */
    private record Head(int opcode, int group, long id, FrameReader in) {
        static Head read(byte[] frame) throws MalformedFrameException {
            FrameReader in = new FrameReader(frame);
            int length = in.u32();
            Strict.require(length == in.remaining() && length >= 8, "the length is wrong");
            int opcode = in.u8();
            in.u8();
            int group = in.u8();
            in.u8();
            return new Head(opcode, group, in.u32Unsigned(), in);
        }
    }
}
