//! The item counts of common evaluation sets.

/// Item counts of the scored split by lm-evaluation-harness task name, for tasks with binary items.
const SETS: &[(&str, u32)] = &[
    ("arc_challenge", 1172),
    ("arc_easy", 2376),
    ("boolq", 3270),
    ("hellaswag", 10042),
    ("lambada_openai", 5153),
    ("logiqa", 651),
    ("openbookqa", 500),
    ("piqa", 1838),
    ("sciq", 1000),
    ("winogrande", 1267),
    ("wsc", 104),
    ("crows_pairs_english", 1677),
    ("crows_pairs_french", 1677),
];

/// The subjects of MMLU.
const MMLU: &[(&str, u32)] = &[
    ("abstract_algebra", 100),
    ("anatomy", 135),
    ("astronomy", 152),
    ("business_ethics", 100),
    ("clinical_knowledge", 265),
    ("college_biology", 144),
    ("college_chemistry", 100),
    ("college_computer_science", 100),
    ("college_mathematics", 100),
    ("college_medicine", 173),
    ("college_physics", 102),
    ("computer_security", 100),
    ("conceptual_physics", 235),
    ("econometrics", 114),
    ("electrical_engineering", 145),
    ("elementary_mathematics", 378),
    ("formal_logic", 126),
    ("global_facts", 100),
    ("high_school_biology", 310),
    ("high_school_chemistry", 203),
    ("high_school_computer_science", 100),
    ("high_school_european_history", 165),
    ("high_school_geography", 198),
    ("high_school_government_and_politics", 193),
    ("high_school_macroeconomics", 390),
    ("high_school_mathematics", 270),
    ("high_school_microeconomics", 238),
    ("high_school_physics", 151),
    ("high_school_psychology", 545),
    ("high_school_statistics", 216),
    ("high_school_us_history", 204),
    ("high_school_world_history", 237),
    ("human_aging", 223),
    ("human_sexuality", 131),
    ("international_law", 121),
    ("jurisprudence", 108),
    ("logical_fallacies", 163),
    ("machine_learning", 112),
    ("management", 103),
    ("marketing", 234),
    ("medical_genetics", 100),
    ("miscellaneous", 783),
    ("moral_disputes", 346),
    ("moral_scenarios", 895),
    ("nutrition", 306),
    ("philosophy", 311),
    ("prehistory", 324),
    ("professional_accounting", 282),
    ("professional_law", 1534),
    ("professional_medicine", 272),
    ("professional_psychology", 612),
    ("public_relations", 110),
    ("security_studies", 245),
    ("sociology", 201),
    ("us_foreign_policy", 100),
    ("virology", 166),
    ("world_religions", 171),
];

/// The subjects of MMLU-Pro.
const MMLU_PRO: &[(&str, u32)] = &[
    ("biology", 717),
    ("business", 789),
    ("chemistry", 1132),
    ("computer_science", 410),
    ("economics", 844),
    ("engineering", 969),
    ("health", 818),
    ("history", 381),
    ("law", 1101),
    ("math", 1351),
    ("philosophy", 499),
    ("physics", 1299),
    ("psychology", 798),
    ("other", 924),
];
/// The number of MMLU-Pro subjects.
pub const MMLU_PRO_SUBJECTS: usize = MMLU_PRO.len();

fn found(table: &[(&str, u32)], name: &str) -> Option<f64> {
    table.iter().find(|(known, _)| *known == name).map(|(_, items)| f64::from(*items))
}

/// The item count of a task by its name in lm-evaluation-harness, or in lighteval without the suite.
pub fn of_task(task: &str) -> Option<f64> {
    let subject = ["hendrycksTest-", "mmlu_", "mmlu:"].iter().find_map(|of| task.strip_prefix(of));
    match subject {
        Some(subject) => found(MMLU, subject),
        None => found(SETS, task),
    }
}

/// The item count of an MMLU-Pro subject.
pub fn of_mmlu_pro(subject: &str) -> Option<f64> {
    found(MMLU_PRO, &subject.to_ascii_lowercase().replace([' ', '-'], "_"))
}

/// The item count of MMLU-Pro.
pub fn mmlu_pro() -> f64 {
    MMLU_PRO.iter().map(|(_, items)| f64::from(*items)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subjects_are_all_there() {
        let sum = |table: &[(&str, u32)]| table.iter().map(|(_, items)| items).sum::<u32>();
        assert_eq!((MMLU.len(), sum(MMLU)), (57, 14042));
        assert_eq!((MMLU_PRO_SUBJECTS, mmlu_pro()), (14, 12032.0));
        assert_eq!(of_mmlu_pro("Computer Science"), Some(410.0));
        assert_eq!(of_task("hendrycksTest-virology"), of_task("mmlu:virology"));
    }
}
