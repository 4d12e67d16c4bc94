// The program for the generator go of openapi-generator.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"time"

	gateway "example.com/memory/gateway"
)

type object = map[string]interface{}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func main() {
	var given struct {
		Metadata object
		Data     object
		Lines    string
	}
	must(0, json.Unmarshal([]byte(os.Getenv("GIVEN")), &given))
	configuration := gateway.NewConfiguration()
	configuration.Servers = gateway.ServerConfigurations{{URL: os.Getenv("URL")}}
	client := gateway.NewAPIClient(configuration)
	asking := context.WithValue(context.Background(), gateway.ContextAccessToken, os.Getenv("TOKEN"))

	fox := gateway.NewStoreRequest("bot", "a red fox")
	fox.Metadata = given.Metadata
	stored, _, err := client.MemoryAPI.Store(asking).StoreRequest(*fox).Execute()
	must(stored, err)
	question := *gateway.NewRecallRequest("bot", "fox")
	recalled, _, err := client.MemoryAPI.Recall(asking).RecallRequest(question).Execute()
	must(recalled, err)
	listed, _, err := client.DataAPI.ListMemories(asking).AgentId("bot").Execute()
	must(listed, err)
	must(0, os.WriteFile("lines", []byte(given.Lines), 0o600))
	report, _, err := client.TransferAPI.CallImport(asking).Body(must(os.Open("lines"))).Execute()
	must(report, err)
	exported, _, err := client.TransferAPI.Export(asking).Execute()
	must(exported, err)

	run, _, err := client.EpisodesAPI.StartRun(asking).
		StartRunRequest(*gateway.NewStartRunRequest("bot", "support", given.Metadata)).Execute()
	must(run, err)
	episode := gateway.NewEpisodeRequest("answer", "a white owl")
	episode.Data = given.Data
	episodes := *gateway.NewAppendEpisodesRequest([]gateway.EpisodeRequest{*episode})
	appended, _, err := client.EpisodesAPI.AppendEpisode(asking, run.RunId).AppendEpisodesRequest(episodes).Execute()
	must(appended, err)
	keys := client.WorkingMemoryAPI
	written, _, err := keys.SetWorking(asking, "bot", "one", "plan").
		WorkingRequest(*gateway.NewWorkingRequest(given.Metadata)).Execute()
	must(written, err)
	working, _, err := keys.GetWorking(asking, "bot", "one", "plan").Execute()
	must(working, err)
	white := gateway.NewLearnFactRequest("the owl", "is", "white")
	white.SetAgentId("bot")
	fact, _, err := client.FactsAPI.Learn(asking).LearnFactRequest(*white).Execute()
	must(fact, err)
	wanted := gateway.NewAssembleRequest("bot")
	wanted.SetAgentType("support")
	assembled, _, err := client.ContextAPI.AssembleContext(asking).AssembleRequest(*wanted).Execute()
	must(assembled, err)

	bear := gateway.NewStoreRequest("bot", "a bear")
	bear.SetExpiresAt(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC))
	_, answer, err := client.MemoryAPI.Store(asking).StoreRequest(*bear).Execute()
	var failure *gateway.GenericOpenAPIError
	if !errors.As(err, &failure) {
		panic("it was not refused")
	}
	problem := failure.Model().(gateway.Problem)
	fields := []string{}
	for _, each := range problem.Errors {
		fields = append(fields, each.Field)
	}
	found, all := []object{}, []object{}
	for _, entry := range recalled.Entries {
		found = append(found, entry.Metadata)
	}
	for _, each := range listed.Memories {
		all = append(all, each.Metadata)
	}
	told := []string{}
	for _, piece := range assembled.Pieces {
		if piece.Part == "episodes" {
			told = append(told, piece.Content)
		}
	}
	must(0, json.NewEncoder(os.Stdout).Encode(object{
		"stored":    stored.GetStored(),
		"recalled":  found,
		"listed":    all,
		"report":    string(must(os.ReadFile(report.Name()))),
		"exported":  string(must(os.ReadFile(exported.Name()))),
		"tiers":     []interface{}{run.Input, appended.Written, working.Value, fact.Holds},
		"assembled": told,
		"refused":   []interface{}{answer.StatusCode, problem.Code, fields},
	}))
}
