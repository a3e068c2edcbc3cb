package io.adjourn.client.internal.session;

import io.adjourn.client.UsageException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;

/** TLS as PEM files say it. */
public final class Pem {
    private static final Pattern KEY = Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");
    /** Of keys that stay in memory. */
    private static final char[] NO_PASSWORD = new char[0];

    private Pem() {
    }

    /** Believes the CA, or those of the system without one, and shows the certificate, if there is one. */
    public static SSLContext context(Path ca, Path certificate, Path key) {
        try {
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(certificate == null ? null : shown(certificate, key), ca == null ? null : believed(ca), null);
            return context;
        } catch (GeneralSecurityException | IOException e) {
            throw new UsageException("TLS cannot be used: " + e.getMessage(), e);
        }
    }

    private static TrustManager[] believed(Path ca) throws GeneralSecurityException, IOException {
        KeyStore store = emptyStore();
        for (Certificate one : certificates(ca)) {
            store.setCertificateEntry("ca-" + store.size(), one);
        }
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        return factory.getTrustManagers();
    }

    private static KeyManager[] shown(Path certificate, Path key) throws GeneralSecurityException, IOException {
        KeyStore store = emptyStore();
        store.setKeyEntry("client", privateKey(key), NO_PASSWORD, certificates(certificate).toArray(Certificate[]::new));
        KeyManagerFactory factory = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        factory.init(store, NO_PASSWORD);
        return factory.getKeyManagers();
    }

    private static KeyStore emptyStore() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    private static Collection<? extends Certificate> certificates(Path file) throws GeneralSecurityException, IOException {
        try (InputStream input = Files.newInputStream(file)) {
            Collection<? extends Certificate> found = CertificateFactory.getInstance("X.509").generateCertificates(input);
            if (found.isEmpty()) {
                throw new IOException(file + " has no certificate");
            }
            return found;
        } catch (GeneralSecurityException e) {
            throw new IOException(file + " has no certificate: " + e.getMessage(), e);
        }
    }

    private static PrivateKey privateKey(Path file) throws GeneralSecurityException, IOException {
        Matcher found = KEY.matcher(Files.readString(file));
        if (!found.find()) {
            throw new IOException(file + " has no BEGIN PRIVATE KEY: openssl pkcs8 -topk8 -nocrypt makes it of other keys");
        }
        PKCS8EncodedKeySpec encoded = new PKCS8EncodedKeySpec(Base64.getMimeDecoder().decode(found.group(1)));
        for (String algorithm : List.of("EC", "RSA", "EdDSA")) {
            try {
                return KeyFactory.getInstance(algorithm).generatePrivate(encoded);
            } catch (InvalidKeySpecException e) {
                // It is of another algorithm.
            }
        }
        throw new IOException(file + " has a key that is neither EC nor RSA nor EdDSA");
    }
}
