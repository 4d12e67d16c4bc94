// The program for the generator java of openapi-generator, with its library native.

import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ContextApi;
import org.openapitools.client.api.DataApi;
import org.openapitools.client.api.EpisodesApi;
import org.openapitools.client.api.FactsApi;
import org.openapitools.client.api.MemoryApi;
import org.openapitools.client.api.TransferApi;
import org.openapitools.client.api.WorkingMemoryApi;
import org.openapitools.client.model.AppendEpisodesRequest;
import org.openapitools.client.model.AssembleRequest;
import org.openapitools.client.model.EpisodeRequest;
import org.openapitools.client.model.LearnFactRequest;
import org.openapitools.client.model.Problem;
import org.openapitools.client.model.RecallRequest;
import org.openapitools.client.model.StartRunRequest;
import org.openapitools.client.model.StoreRequest;
import org.openapitools.client.model.WorkingRequest;

public class Program {
  @SuppressWarnings("unchecked")
  public static void main(String[] arguments) throws Exception {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("URL"));
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv("TOKEN")));
    Map<String, Object> given = client.getObjectMapper().readValue(System.getenv("GIVEN"), Map.class);
    MemoryApi memory = new MemoryApi(client);

    StoreRequest fox = new StoreRequest().agentId("bot").content("a red fox");
    fox.setMetadata((Map<String, Object>) given.get("metadata"));
    Map<String, Object> answers = new LinkedHashMap<>();
    answers.put("stored", memory.store(fox, null).getStored());
    RecallRequest question = new RecallRequest().agentId("bot").query("fox");
    answers.put("recalled", memory.recall(question).getEntries().stream().map(each -> each.getMetadata()).toList());
    var listed = new DataApi(client).listMemories("bot", null, null, null, null, null, null);
    answers.put("listed", listed.getMemories().stream().map(each -> each.getMetadata()).toList());
    Path lines = Files.writeString(Path.of("lines"), (String) given.get("lines"));
    TransferApi transfer = new TransferApi(client);
    answers.put("report", Files.readString(transfer.callImport(lines.toFile()).toPath()));
    answers.put("exported", Files.readString(transfer.export(null, null).toPath()));

    EpisodesApi runs = new EpisodesApi(client);
    var started = new StartRunRequest().agentId("bot").agentType("support").input(given.get("metadata"));
    var run = runs.startRun(started);
    var episode = new EpisodeRequest().type("answer").content("a white owl");
    episode.setData((Map<String, Object>) given.get("data"));
    var appended = runs.appendEpisode(run.getRunId(), new AppendEpisodesRequest().addEpisodesItem(episode));
    WorkingMemoryApi keys = new WorkingMemoryApi(client);
    keys.setWorking("bot", "one", "plan", new WorkingRequest().value(given.get("metadata")), null, null);
    var working = keys.getWorking("bot", "one", "plan");
    var white = new LearnFactRequest().agentId("bot").subject("the owl").predicate("is")._object("white");
    var fact = new FactsApi(client).learn(white);
    answers.put("tiers", List.of(run.getInput(), appended.getWritten(), working.getValue(), fact.getHolds()));
    var wanted = new AssembleRequest().agentId("bot").agentType("support");
    answers.put(
        "assembled",
        new ContextApi(client)
            .assembleContext(wanted).getPieces().stream()
                .filter(piece -> piece.getPart().getValue().equals("episodes"))
                .map(piece -> piece.getContent())
                .toList());

    StoreRequest bear = new StoreRequest().agentId("bot").content("a bear");
    bear.setExpiresAt(OffsetDateTime.parse("2026-01-02T00:00:00Z"));
    try {
      memory.store(bear, null);
    } catch (ApiException error) {
      Problem problem = client.getObjectMapper().readValue(error.getResponseBody(), Problem.class);
      List<String> fields = problem.getErrors().stream().map(each -> each.getField()).toList();
      answers.put("refused", List.of(error.getCode(), problem.getCode(), fields));
    }
    System.out.println(new ObjectMapper().writeValueAsString(answers));
  }
}
