//! What reports call the models of a spec: their names, and where several share one also which of them it is.

use super::Spec;
use crate::engine::agent::Model;

impl Spec {
    /// What each model is called, in their order. Different models of one name are numbered; the very same one
    /// is called the same.
    pub fn model_labels(&self) -> Vec<String> {
        let mut different: Vec<&Model> = Vec::new();
        for model in &self.models {
            if !different.contains(&model) {
                different.push(model);
            }
        }
        let label = |model: &Model| {
            let mut namesakes = different.iter().filter(|other| other.name == model.name);
            match (
                namesakes.clone().count(),
                namesakes.position(|it| *it == model),
            ) {
                (2.., Some(place)) => format!("{} #{}", model.name, place + 1),
                _ => model.name.clone(),
            }
        };
        self.models.iter().map(label).collect()
    }
}
