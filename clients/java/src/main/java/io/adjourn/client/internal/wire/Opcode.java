package io.adjourn.client.internal.wire;

/** The opcodes of the protocol. */
public enum Opcode {
    HELLO(0x01), PING(0x02), GOODBYE(0x03), PUSH(0x10), RESERVE(0x20), SUBSCRIBE(0x21), CREDIT(0x22), UNSUBSCRIBE(0x23),
    CANCEL(0x24), LEASES(0x25), FINISH(0x30), RELEASE(0x31), TOUCH(0x32), BURY(0x33), GET(0x40), DELETE(0x41),
    RESCHEDULE(0x42), RUN_NOW(0x43), KICK(0x44), PEEK(0x45), KICK_MANY(0x46), LIST(0x47), COUNT(0x48), BULK(0x49),
    PAUSE(0x50), RESUME(0x51), TOPICS(0x52), STATS(0x53), CONNECTIONS(0x54), DISCONNECT(0x55), TOPIC_SET(0x56),
    TOPIC_DELETE(0x57), TOPIC_SHOW(0x58), BACKUP_BEGIN(0x60), BACKUP_READ(0x61), BACKUP_END(0x62), CLUSTER_STATUS(0x70),
    CLUSTER_ADD(0x71), CLUSTER_REMOVE(0x72), CLUSTER_TRANSFER(0x73),
    WELCOME(0x81), PONG(0x82), DONE(0x83), GOING_AWAY(0x84), PUSHED(0x90), RESERVED(0xA0), SUBSCRIBED(0xA1), DELIVER(0xA2),
    LEASED(0xA3), SETTLED(0xB0), JOB(0xC0), CHANGED(0xC1), KICKED(0xC2), JOBS(0xC3), COUNTED(0xC4), BULKED(0xC5),
    TOPIC_COUNTS(0xD0), QUEUE_STATS(0xD1), CONNECTION_LIST(0xD2), TOPIC_SETTINGS(0xD3), BACKUP_READY(0xE0),
    BACKUP_DATA(0xE1), CLUSTER_REPORT(0xF0), ERROR(0xFF);

    private static final Opcode[] BY_NUMBER = new Opcode[256];

    static {
        for (Opcode opcode : values()) {
            BY_NUMBER[opcode.number] = opcode;
        }
    }

    private final int number;

    Opcode(int number) {
        this.number = number;
    }

    public int number() {
        return number;
    }

    /** The opcode of this number, or {@code null} if a newer peer uses one that this client does not know. */
    public static Opcode of(int number) {
        return BY_NUMBER[number & 0xff];
    }
}
