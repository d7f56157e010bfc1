package org.rackbench.clients.jaxws;

import com.sun.xml.ws.api.message.Packet;
import com.sun.xml.ws.api.pipe.ClientTubeAssemblerContext;
import com.sun.xml.ws.api.pipe.Codec;
import com.sun.xml.ws.api.pipe.ContentType;
import com.sun.xml.ws.api.pipe.TransportTubeFactory;
import com.sun.xml.ws.api.pipe.Tube;
import com.sun.xml.ws.transport.http.client.HttpTransportPipe;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import org.rackbench.harness.api.Part;

/**
 * JAX-WS RI's own HTTP transport with a codec that counts the bytes of bodies into the call's
 * {@link BodyBytes}. The RI finds it by META-INF/services.
 */
public final class CountingTransport extends TransportTubeFactory {

  @Override
  public Tube doCreate(ClientTubeAssemblerContext context) {
    return new HttpTransportPipe(new CountingCodec(context.getCodec()), context.getBinding());
  }

  private static final class CountingCodec implements Codec {

    private final Codec codec;

    CountingCodec(Codec codec) {
      this.codec = codec;
    }

    private static BodyBytes bodies(Packet packet) {
      return (BodyBytes) packet.invocationProperties.get(BodyBytes.PROPERTY);
    }

    @Override
    public ContentType encode(Packet packet, OutputStream out) throws IOException {
      ContentType type = codec.encode(packet, bodies(packet).counting(out));
      // all is in memory: the JDK sends it when JAX-WS asks for the answer
      bodies(packet).parts().begin(Part.WAIT);
      return type;
    }

    @Override
    public void decode(InputStream in, String contentType, Packet packet) throws IOException {
      bodies(packet).parts().begin(Part.PARSE);
      codec.decode(bodies(packet).counting(in), contentType, packet);
    }

    @Override
    public String getMimeType() {
      return codec.getMimeType();
    }

    @Override
    public ContentType getStaticContentType(Packet packet) {
      return codec.getStaticContentType(packet);
    }

    @Override
    public ContentType encode(Packet packet, WritableByteChannel buffer) {
      return codec.encode(packet, buffer);
    }

    @Override
    public void decode(ReadableByteChannel in, String contentType, Packet packet) {
      codec.decode(in, contentType, packet);
    }

    @Override
    public Codec copy() {
      return new CountingCodec(codec.copy());
    }
  }
}
