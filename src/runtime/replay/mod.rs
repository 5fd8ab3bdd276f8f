//! A recording as an endpoint: its model turns are served again, in the dialects of OpenAI Responses, OpenAI Chat and Anthropic Messages.
