{{- define "engine.command" -}}
exec vllm serve {{ .Values.model }} --nnodes={{ .Values.nodes }} --node-rank=$(MODELPLANE_RANK) --master-addr=$(MODELPLANE_LEADER_ADDRESS)
{{- end -}}
